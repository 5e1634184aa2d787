package stackwalk_test

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestCallThroughSlot: a call of a function whose address the linker put into a word proves a table's frame, if the callee is that
// function.
//
//	main 0x400000   0x400010 call *0xea(%rip)      the word at 0x400100
//	f    0x400080
func TestCallThroughSlot(t *testing.T) {
	const base, back, f = 0x400000, 0x400016, 0x400080
	arch := x86.Archs()[0]
	for _, a := range x86.Archs() {
		if a.Name == "x86_64" {
			arch = a
		}
	}
	for slot, want := range map[uint64]bool{f: true, f + 0x20: false} {
		code := make([]byte, 0x200)
		copy(code[0x10:], "\xff\x15\xea\x00\x00\x00")
		copy(code[0x80:], "\x53\x90\x90\x90") // push %rbx
		binary.LittleEndian.PutUint64(code[0x100:], slot)
		inF := framed(arch, 16, stackwalk.RegRule{Kind: stackwalk.AtCFA, Base: arch.PC, Off: -8}, stackwalk.StartStated)
		inF.Start = f
		cfi := rules{method: unwind.MethodCFI, ends: map[uint64]bool{back: true}, at: map[uint64][]stackwalk.Rule{f + 2: {inF}}}
		stack := synth.Stack(arch).Zero(8).Word(back).Zero(64).Place(0x7fff_0000)
		snap := synth.Capture(arch, []*target.Module{synth.Module(arch, base, code)}, stack)
		snap.Threads = []target.Thread{{ID: 1, Regs: *synth.Regs(arch, map[string]uint64{"rip": f + 2, "rsp": stack.Base})}}
		frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{cfi}, CallGraph: graph{holds: sameHundred}})
		if len(frames) != 2 || frames[1].PC != back || frames[1].Checks.Has(unwind.TargetMatches) != want {
			t.Errorf("%#x: %+v", slot, frames)
		}
	}
}
