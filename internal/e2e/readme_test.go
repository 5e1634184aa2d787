package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestReadme: what README.md shows is what the program prints, and its library
// example is the one that is compiled and run.
func TestReadme(t *testing.T) {
	doc := read(t, "../../README.md")
	if want := read(t, "../../testdata/mips-deref/want.txt"); !strings.Contains(doc, "```\n"+want+"```\n") {
		t.Errorf("README.md does not show what its first command prints:\n%s", want)
	}
	first, _, _ := strings.Cut(read(t, "../../testdata/mips-naked/want.txt"), "    stop:")
	for _, frame := range strings.Split(strings.TrimSpace(first), "\n")[1:] {
		if !strings.Contains(doc, " "+frame+"\n") {
			t.Errorf("README.md does not show %q beside GDB's backtrace", frame)
		}
	}
	if args := strings.Fields(read(t, "../../testdata/mips-deref/args")); !strings.Contains(doc, "go run ./cmd/backsight bt --sysroot testdata/mips-deref/"+args[len(args)-2]) {
		t.Errorf("README.md's first command is not that of testdata/mips-deref: %q", args)
	}
	t.Run("jq", func(t *testing.T) {
		if _, err := exec.LookPath("jq"); err != nil {
			t.Skip(err)
		}
		for _, s := range shown(doc) {
			s.run(t, "../..", "PATH="+filepath.Dir(command(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
		}
	})
	example := read(t, "../../example_test.go")
	_, code, _ := strings.Cut(doc, "```go\n")
	code, _, _ = strings.Cut(code, "```")
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "…" && !strings.Contains(example, line) {
			t.Errorf("example_test.go has no line %q", line)
		}
	}
}
