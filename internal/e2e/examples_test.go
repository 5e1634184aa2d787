package e2e_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExamples builds the programs in examples, each a module of its own that only sees
// what this module exports, without a network, and runs them in their folders. What they
// print is in their want.txt.
func TestExamples(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go to build with")
	}
	for _, c := range []struct{ program, args, stdin string }{
		{"profiler", "-sysroot ../../testdata/x86_64-threads/modules ../../testdata/x86_64-threads/core.gz", ""},
		{"crashservice", "-sysroot ../../testdata/mips-deref/modules", "../../testdata/mips-deref/core.gz"},
		{"formats", "crash.txt", ""},
	} {
		t.Run(c.program, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join("../../examples", c.program)
			cmd := exec.Command(outside(t, dir), strings.Fields(c.args)...)
			cmd.Dir = dir
			var talk bytes.Buffer
			cmd.Stderr = &talk
			if c.stdin != "" {
				in, err := os.Open(c.stdin)
				if err != nil {
					t.Fatal(err)
				}
				defer in.Close()
				cmd.Stdin = in
			}
			got, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %s", err, talk.Bytes())
			}
			if want := read(t, filepath.Join(dir, "want.txt")); string(got) != want {
				t.Errorf("printed\n%swant\n%s", got, want)
			}
		})
	}
}

// outside vets, tests and builds a program of another module.
func outside(t *testing.T, dir string) (program string) {
	t.Helper()
	program = filepath.Join(t.TempDir(), "program.exe") // Windows asks for the suffix
	for _, args := range [][]string{{"test", "./..."}, {"build", "-o", program, "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -mod=readonly"))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	return program
}
