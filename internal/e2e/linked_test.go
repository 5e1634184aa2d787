package e2e_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestLinkedMethods: the command calls no method by a name that only shows as it runs, as
// templates do. With one such call the linker keeps every exported method of every type, which
// made the program a sixth larger, and its memory in use by 1.3 MB: code that is spread wider
// takes more pages.
func TestLinkedMethods(t *testing.T) {
	cmd := exec.Command("go", "build", "-ldflags=-dumpdep", "-o", os.DevNull, "../../cmd/backsight")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %.1000s", err, out)
	}
	const from, by = " -> ", " <ReflectMethod>"
	if !strings.Contains(string(out), "main.main"+from) {
		t.Fatal("the linker does not say what is linked")
	}
	for line := range strings.Lines(string(out)) {
		if caller, callee, _ := strings.Cut(line, from); strings.HasSuffix(strings.TrimSpace(callee), by) {
			t.Errorf("%s is linked by %s", strings.TrimSpace(callee), caller)
		}
	}
}
