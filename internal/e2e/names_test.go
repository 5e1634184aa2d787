package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// mostNames is how many names the packages have together that other programs import, as go doc lists them: a line for each function and
// type, and for each group of constants. A name more than that is one that somebody has to learn.
const mostNames = 250

// libraryFile names the packages that other programs import.
const libraryFile = root + "/docs/library.md"

// TestNames counts them, and names the packages that other programs could import although docs/library.md does not say so.
func TestNames(t *testing.T) {
	_, list, ok := strings.Cut(read(t, libraryFile), "do not break within a major version:")
	if list, _, _ = strings.Cut(list, "."); !ok {
		t.Fatal("docs/library.md names no packages")
	}
	public, names := map[string]bool{}, 0
	for _, pkg := range words(list) {
		public[pkg] = true
		cmd := exec.Command("go", "doc", "-short", full(pkg))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		names += bytes.Count(out, []byte("\n"))
	}
	if names > mostNames {
		t.Errorf("%d names are exported, %d at most", names, mostNames)
	}
	for _, p := range packages(t) {
		name := short(p.ImportPath)
		tool := p.Name == "main" || strings.HasPrefix(name, "lab/") || name == "bench"
		if inside := strings.Contains(name, "internal/"); !public[name] && !tool && !inside {
			t.Errorf("%s is neither internal nor in docs/library.md", name)
		}
	}
}

// full is the import path of a package as docs have it.
func full(pkg string) string {
	if pkg == "backsight" {
		return module
	}
	return module + "/" + pkg
}
