package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/embedded"
)

// most is how large the page may be.
const most = 8 << 20

// TestPackage: the package for Node writes what the command writes, in a thread of its own, and its promises fail where files are
// not there. The page that is built beside it asks for nothing.
func TestPackage(t *testing.T) {
	if os.Getenv("BACKSIGHT_LONG") == "" {
		t.Skip("compiles the project for another system; BACKSIGHT_LONG=1")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node: the package is not built")
	}
	if v, err := exec.Command(node, "--version").Output(); err != nil || strings.HasPrefix(string(v), "v1") {
		t.Skipf("the package needs Node 20, this is %s", v)
	}
	t.Setenv("GOFLAGS", "-buildvcs=false") // as of no release
	t.Chdir("../..")
	dir := t.TempDir()
	if err := build(dir, "1.2.3"); err != nil {
		t.Fatal(err)
	}
	example := func(args ...string) (string, error) {
		cmd := exec.Command(node, append([]string{"contrib/web/npm/example.js"}, args...)...)
		cmd.Env = append(os.Environ(), "BACKSIGHT="+filepath.Join(dir, "npm"))
		out, err := cmd.Output()
		return string(out), err
	}
	for _, capture := range [][2]string{
		{"testdata/mips-deref/core.gz", "testdata/mips-deref/modules"},
		{"testdata/x86_64-threads/core.gz", "testdata/x86_64-threads/modules"},
		{"testdata/aarch64-signal/core.gz"},
		{"contrib/web/page/oops.log"},
	} {
		sysroot := ""
		if capture[1] != "" {
			sysroot = `"` + capture[1] + `"`
		}
		s, err := embedded.Open(`{"sysroot": [` + sysroot + `]}`)
		if err != nil {
			t.Fatal(err)
		}
		want, err := s.Backtraces(t.Context(), "json", capture[0])
		if err != nil {
			t.Fatal(err)
		}
		if got, err := example(capture[:]...); err != nil || got != string(want) {
			t.Errorf("%s: %v\n%s\nwant\n%s", capture[0], err, got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if out, err := example("none"); err == nil {
		t.Errorf("a file that is not there: %s", out)
	}
	checkPage(t, filepath.Join(dir, "backsight.html"))
}

// checkPage: all of the page is in its file, whose policy allows no request.
func checkPage(t *testing.T, path string) {
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(page) > most {
		t.Errorf("the page has %d bytes; at most %d", len(page), most)
	}
	for _, wanted := range []string{`content="default-src 'none';`, `sandbox="allow-scripts"`} {
		if !strings.Contains(string(page), wanted) {
			t.Errorf("the page lacks %s", wanted)
		}
	}
	for _, left := range []string{">WASM<", ">WORKER<", ">STYLE<", ">SCRIPT<", ">EXAMPLES<", "WASM_EXEC", "connect-src", " src=\"http"} {
		if strings.Contains(string(page), left) {
			t.Errorf("the page has %s", left)
		}
	}
}

// TestReadAhead: a browser takes some milliseconds for each slice of a file. One that is read from front to back, as what is
// compressed is, takes few; one whose places are asked at random is not read beyond them; and what is kept of both has its bound.
func TestReadAhead(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node: the page's worker is not run")
	}
	out, err := exec.Command(node, "testdata/ahead.js").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	type read struct{ Slices, Bytes int }
	var got struct {
		Front, Random read
		Held          int
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	const size, block = 170 << 20, 64 << 10
	if got.Front.Slices > 100 || got.Front.Bytes != size {
		t.Errorf("from front to back: %+v", got.Front)
	}
	if got.Random.Slices > 1000 || got.Random.Bytes > 1010*block {
		t.Errorf("at random: %+v", got.Random)
	}
	if got.Held > 2*128 {
		t.Errorf("%d blocks are kept of two files", got.Held)
	}
}
