package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/lab/livecore"
	"github.com/backsight/backsight/unwind"
)

// goCrash crashes at a NULL pointer, three calls deep, in line 11, and has the runtime dump core.
const goCrash = `package main

import "runtime/debug"

type node struct {
	next *node
	n    int
}

//go:noinline
func length(n *node) int { return n.n + length(n.next) }

//go:noinline
func total(lists []*node) (sum int) {
	for _, l := range lists {
		sum += length(l)
	}
	return sum
}

func main() {
	debug.SetTraceback("crash")
	println(total([]*node{{n: 1}}))
}
`

// TestGo: a stripped program of the Go toolchain that dereferences nil, as the kernel dumps it: the
// runtime's handler raises SIGABRT, below it stands the call that the handler pushed, below that the
// function that crashed. Names and lines come from the table that no stripping removes.
func TestGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go toolchain")
	}
	for _, mode := range []string{"exe", "pie"} {
		t.Run(mode, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), "crash")
			if err := os.WriteFile(program+".go", []byte(goCrash), 0o644); err != nil {
				t.Fatal(err)
			}
			build := exec.Command("go", "build", "-trimpath", "-buildmode="+mode, "-ldflags=-s -w", "-o", program, program+".go")
			if out, err := build.CombinedOutput(); err != nil {
				t.Skipf("%v\n%s", err, out)
			}
			crashed := &reportOf(t, livecore.Crash(t, program)).Threads[0]
			const want = "runtime.sigpanic main.length main.total main.main runtime.main runtime.goexit"
			if chain := chainOf(crashed); !strings.HasSuffix(chain, want) || crashed.Stop.Reason.String() != "root" {
				t.Errorf("%s, stop: %s; want … %s, stop: root", chain, crashed.Stop.Reason, want)
			}
			if last := crashed.Frames[len(crashed.Frames)-1]; last.Trust != unwind.Certain {
				t.Errorf("%s: %s", last.Function, last.Trust)
			}
			for i := range crashed.Frames {
				f := &crashed.Frames[i]
				if f.Function == "main.length" && (filepath.Base(f.File) != "crash.go" || f.Line != 11) {
					t.Errorf("main.length at %s:%d", f.File, f.Line)
				}
			}
		})
	}
}
