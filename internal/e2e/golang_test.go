package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/lab/livecore"
	"github.com/backsight/backsight/report"
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
	for _, mode := range []string{"exe", "pie"} {
		t.Run(mode, func(t *testing.T) {
			program := buildGo(t, goCrash, "-buildmode="+mode)
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

// goFatal ends on the thread's stack, where the runtime works for a goroutine: it prints what is wrong and kills the
// program; goOverflow where a stack cannot grow any more, which the functions' prologues find out.
const (
	goFatal = `package main

import (
	"runtime/debug"
	"sync"
)

//go:noinline
func unlock(m *sync.Mutex) { m.Unlock() }

func main() {
	debug.SetTraceback("crash")
	unlock(new(sync.Mutex))
}
`
	goOverflow = `package main

import "runtime/debug"

//go:noinline
func recurse(n int) int { return recurse(n+1) + n }

func main() {
	debug.SetTraceback("crash")
	debug.SetMaxStack(4 << 10)
	println(recurse(1))
}
`
	// goCallback crashes in C, which Go called, which C called, which Go called.
	goCallback = `package main

/*
extern void callback(int *);
static int sum;
static __attribute__((noinline)) void inner(int *p) { *p = 1; sum++; }
static __attribute__((noinline)) void outer(int *p) { callback(p); sum++; }
*/
import "C"

import "runtime/debug"

//export callback
func callback(p *C.int) { C.inner(p) }

//go:noinline
func work() { C.outer(nil) }

func main() {
	debug.SetTraceback("crash")
	work()
}
`
)

// TestGoStacks: from the thread's stack chains go on to the goroutine's, and back to C's where C had called Go.
func TestGoStacks(t *testing.T) {
	for _, c := range []struct{ name, source, want, end string }{
		{"systemstack", goFatal, "runtime.fatalthrow.func1 runtime.systemstack runtime.fatalthrow runtime.fatal",
			"main.unlock main.main runtime.main runtime.goexit"},
		{"morestack", goOverflow, "runtime.newstack runtime.morestack main.recurse",
			"main.recurse main.main runtime.main runtime.goexit"},
		{"cgo", goCallback, "runtime.cgocallbackg runtime.cgocallback crosscall2",
			"runtime.asmcgocall runtime.cgocall main._Cfunc_outer main.work main.main runtime.main runtime.goexit"},
	} {
		t.Run(c.name, func(t *testing.T) {
			crashed := &reportOf(t, livecore.Crash(t, buildGo(t, c.source))).Threads[0]
			chain := chainOf(crashed)
			if !strings.Contains(chain, c.want) || !strings.HasSuffix(chain, c.end) || crashed.Stop.Reason.String() != "root" {
				t.Errorf("%s, stop: %s; want … %s … %s, stop: root", chain, crashed.Stop.Reason, c.want, c.end)
			}
		})
	}
}

// TestGoThread: a thread of Go's runtime ends where it began, in C's library or in the runtime's own code, not in the
// function that Go's stacks end with. What a signal's frame leads to may be likely only (unwind.CapShifted).
func TestGoThread(t *testing.T) {
	for _, c := range []struct {
		name, source string
		behind       int // frames behind mstart, at least
	}{
		{"C: crosscall1, threadentry, start_thread", goCallback, 3},
		{"runtime.clone", goFatal, 1},
	} {
		begun, program := 0, buildGo(t, c.source)
		for range 10 { // the program may be over before its second thread has begun
			if begun += begunInMstart(t, program, c.behind); begun > 0 {
				break
			}
		}
		if begun == 0 {
			t.Errorf("%s: no thread began in runtime.mstart", c.name)
		}
	}
}

// begunInMstart counts the threads of a crash that began in runtime.mstart, and looks at what they began in.
func begunInMstart(t *testing.T, program string, behind int) (begun int) {
	t.Helper()
	for _, th := range reportOf(t, livecore.Crash(t, program)).Threads {
		at := slices.IndexFunc(th.Frames, func(f report.Frame) bool { return f.Function == "runtime.mstart" })
		if at < 0 {
			continue
		}
		begun++
		trust := unwind.Certain
		if slices.ContainsFunc(th.Frames, func(f report.Frame) bool { return f.Checks.Has(unwind.Interrupted) }) {
			trust = unwind.Likely
		}
		if len(th.Frames) <= at+behind || th.Stop.Reason.String() != "root" || th.Frames[at+1].Trust < trust {
			t.Errorf("%s, stop: %s", chainOf(&th), th.Stop.Reason)
		}
	}
	return begun
}

// buildGo builds a stripped program.
func buildGo(t *testing.T, source string, flags ...string) (program string) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no Go toolchain")
	}
	program = filepath.Join(t.TempDir(), "crash")
	if err := os.WriteFile(program+".go", []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"build", "-trimpath", "-ldflags=-s -w", "-o", program}, flags...)
	build := exec.Command("go", append(args, program+".go")...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("%v\n%s", err, out)
	}
	return program
}
