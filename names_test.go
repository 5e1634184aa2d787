package backsight_test

import (
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestNamesOfExports: musl writes memset and __clone in assembly, without sizes, and exports memset alone. What its code does
// not come to is not memset's; so it is where another function calls a place in between.
func TestNamesOfExports(t *testing.T) {
	library := codetest.Program{CPU: "x86_64", Symbols: codetest.Exports, Listing: `
	400000 <memset>:
	400010 <pthread_create>:
		400000: 48 85 d2        test %rdx,%rdx
		400003: 74 01           je   400006
		400005: aa              stos %al,%es:(%rdi)
		400006: c3              ret
		400008: 31 ed           xor  %ebp,%ebp
		40000a: ff d0           call *%rax
		40000c: 0f 0b           ud2
		400010: 50              push %rax
		400011: e8 f2 ff ff ff  call 400008
		400016: e8 ed ff ff ff  call 400008
		40001b: 58              pop  %rax
		40001c: c3              ret`}
	img := library.Image(t)
	names := backsight.Names(false)
	for addr, want := range map[uint64]string{0x400000: "memset", 0x400006: "memset", 0x400008: "", 0x40000b: "", 0x40001b: "pthread_create"} {
		if l := names.Lookup(target.NewModule("libc.so", img, 0), addr); l.Function != want {
			t.Errorf("%#x: %q, want %q", addr, l.Function, want)
		}
	}
}

// TestMadeNames: a frame in code that the program made has the name that a run-time gave; in a file's code such a name means nothing.
func TestMadeNames(t *testing.T) {
	snap := &target.Snapshot{Arch: x86.Archs()[0], Told: target.Told{Made: func(addr uint64) (string, uint64, bool) { return "JS:*fib", 0x9100, addr == 0x910f }}}
	anonymous := &target.Module{Name: "//anon", Range: target.Range{Lo: 0x9000, Hi: 0xa000}, Bias: 0x9000}
	file := &target.Module{Name: "/bin/node", Range: anonymous.Range}
	for _, c := range []struct {
		module *target.Module
		name   string
		entry  uint64
	}{{nil, "JS:*fib", 0x9100}, {anonymous, "JS:*fib", 0x100}, {file, "", 0}} {
		trace := backsight.Backtrace{Thread: new(target.Thread), Frames: []unwind.Frame{{PC: 0x9110, CallSite: 0x910f, Module: c.module}}}
		f := backsight.Report(t.Context(), snap, []backsight.Backtrace{trace}, backsight.Names(false)).Threads[0].Frames[0]
		if f.Function != c.name || f.Entry != c.entry {
			t.Errorf("%q at %#x in %v, want %q at %#x", f.Function, f.Entry, c.module, c.name, c.entry)
		}
	}
}
