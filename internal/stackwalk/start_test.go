package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/internal/code/edges"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// endsAt is a table that has one description for code between two addresses: the stack ends there.
type endsAt struct{ lo, hi uint64 }

func (endsAt) Method() unwind.Method { return unwind.MethodCFI }

func (o endsAt) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.PC < o.lo || q.PC >= o.hi {
		return unwind.NotCovered
	}
	out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: q.Arch.SP, Off: q.Arch.EntryCFA}
	out.RA.Kind, out.Flags, out.Start = stackwalk.Undefined, stackwalk.StartStated, o.lo
	return unwind.Found
}

// TestWithinStart: the description of _start is for the code behind it, too. That is called by _start for the PC (i386), or
// handed on as main (AArch64), and has a caller; _start has none.
func TestWithinStart(t *testing.T) {
	i386 := codetest.Program{CPU: "i386", Entry: 0x400000, Listing: `
	400000 <_start>:
		400000: 31 ed           xor  %ebp,%ebp
		400002: 5e              pop  %esi
		400003: e8 03 00 00 00  call 40000b
		400008: 50              push %eax
		400009: f4              hlt
		40000a: 90              nop
		40000b: 8b 1c 24        mov  (%esp),%ebx
		40000e: c3              ret`}
	arm64 := codetest.Program{CPU: "aarch64", Entry: 0x400000, Listing: `
	400000 <_start>:
	400020 <__libc_start_main>:
	400030 <main>:
		400000: d280001d  mov  x29, #0
		400004: 10000080  adr  x0, 400014
		400008: 94000006  bl   400020
		40000c: d4200000  brk  #0
		400014: d503245f  bti  c
		400018: 14000006  b    400030
		400020: a9bf7bfd  stp  x29, x30, [sp, #-16]!
		400024: d63f0000  blr  x0
		400028: a8c17bfd  ldp  x29, x30, [sp], #16
		40002c: d65f03c0  ret
		400030: d65f03c0  ret`}
	for _, c := range []struct {
		name string
		p    codetest.Program
		pc   uint64
		word uint64 // on the stack, and in the link register
		want uint64 // the caller; 0: none
	}{
		{"called for the PC", i386, 0x40000b, 0x400008, 0x400008},
		{"_start itself", i386, 0x400003, 0x400008, 0},
		{"no call", i386, 0x40000b, 1, 0},
		{"handed on as main", arm64, 0x400018, 0x400028, 0x400028},
		{"_start of AArch64", arm64, 0x400004, 0x400028, 0},
		{"called by nobody", arm64, 0x400018, 0, 0},
	} {
		img := c.p.Image(t)
		lo, hi := img.Segments.Bounds()
		m := &target.Module{Name: "program", Image: img, Range: target.Range{Lo: lo, Hi: hi}}
		snap := synth.Capture(img.Arch, []*target.Module{m}, synth.Stack(img.Arch).Words(c.word, c.word, 0, 0).Place(0x7fff_0000))
		regs := synth.Regs(img.Arch, map[string]uint64{img.Arch.RegName(img.Arch.PC): c.pc, img.Arch.RegName(img.Arch.SP): 0x7fff_0000})
		if !img.Arch.CallPushesRA {
			regs.Set(img.Arch.LR, c.word)
		}
		snap.Threads = []target.Thread{{Regs: *regs}}
		w := stackwalk.NewWalker(snap, stackwalk.Options{CallGraph: edges.New(nil), Sources: []stackwalk.Source{endsAt{0x400000, 0x400020}, code.New(nil)}})
		frames, stop := w.Walk(&snap.Threads[0], nil)
		switch {
		case c.want == 0 && (len(frames) != 1 || stop.Reason != unwind.StopRoot):
			t.Errorf("%s: %x, %v", c.name, frames[len(frames)-1].PC, stop)
		case c.want != 0 && (len(frames) < 2 || frames[1].PC != c.want):
			t.Errorf("%s: %d frames, %v", c.name, len(frames), stop)
		}
	}
}
