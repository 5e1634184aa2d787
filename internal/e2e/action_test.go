package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAction: the script of the workflow action prints the backtrace of each capture in a folder, marks the line of each crash, and passes
// over what only has a capture's name.
func TestAction(t *testing.T) {
	for _, tool := range []string{"sh", "find", "sed"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on this machine", tool)
		}
	}
	dir := t.TempDir()
	capture, err := os.ReadFile("../../testdata/mips-deref/core.gz")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(dir, os.DirFS("../../testdata/mips-deref/modules")); err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"core.77": capture, "core.none": []byte("nothing"), "a name -e.core": capture} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("../../contrib/github/backtraces.sh", dir)
	cmd.Env = append(os.Environ(), "BACKSIGHT="+command(t))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for want, times := range map[string]int{
		"#1  0x400008b0  on_route+0x6c": 2,
		"\n::error file=netd.c,line=24::SIGSEGV in pack: the program reads from 0x40 through a pointer that is NULL\n": 2,
		"::endgroup::\n":               2,
		"\n2 captures with backtraces": 1,
	} {
		if n := strings.Count(string(out), want); n != times {
			t.Errorf("%q %d times, not %d, in\n%s", want, n, times, out)
		}
	}
}
