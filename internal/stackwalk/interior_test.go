package stackwalk

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestSettle: a frame in doubt, of 16 bytes, one behind an indirect call, of 16 bytes as well, and
// one that is proven. Nobody was skipped on the way if nothing else looks like a return address.
func TestSettle(t *testing.T) {
	const text, inA, inB, inC, stack = 0x400000, 0x400018, 0x400118, 0x400218, 0x7fff0000
	arch := mips.Archs()[0]
	code := synth.Stack(arch).Zero(0x300).Place(text)
	call := []byte{0x03, 0x20, 0xf8, 0x09} // jalr t9
	if !arch.BigEndian {
		call = []byte{0x09, 0xf8, 0x20, 0x03}
	}
	for _, ra := range []int{inA, inB, inC} {
		copy(code.Data[ra-8-text:], call)
	}
	const sound = unwind.Executable | unwind.CallBefore | unwind.SPMonotonic | unwind.SPAligned | unwind.SPInStack | unwind.MethodsAgree | unwind.EntryKnown | unwind.FrameSize
	for _, tt := range []struct {
		what   string
		word   uint64 // of the frame in doubt
		doubt  unwind.Checks
		second unwind.Checks
		want   bool
	}{
		{"nothing else is a return address", 0, unwind.TargetUnclear, sound, true},
		{"a number", 0x12345, unwind.TargetUnclear, sound, true},
		{"code that no call returns to", inA - 8, unwind.TargetUnclear, sound, true},
		{"another return address: of a function that was skipped", inC, unwind.TargetUnclear, sound, false},
		{"the next frame's, once more", inB, unwind.TargetUnclear, sound, false},
		{"a direct call elsewhere on the way", 0, unwind.TargetUnclear, sound | unwind.TargetUnclear, false},
		{"a size that was read from the stack", 0, unwind.TargetUnclear, sound &^ unwind.FrameSize, false},
	} {
		s := synth.Stack(arch).Word(tt.word).Zero(4).Word(inB).Zero(4).Zero(8).Word(inC).Zero(4).Place(stack)
		snap := synth.Capture(arch, []*target.Module{synth.Module(arch, text, code.Data)}, s)
		frames := []unwind.Frame{
			{CFA: stack, HasCFA: true},
			{PC: inA, CFA: stack + 16, HasCFA: true, Method: unwind.MethodCode, Trust: unwind.Likely, Checks: sound | tt.doubt},
			{PC: inB, CFA: stack + 32, HasCFA: true, Method: unwind.MethodCode, Trust: unwind.Certain, Checks: tt.second},
			{PC: inC, Method: unwind.MethodCode, Trust: unwind.Certain, Checks: sound | unwind.TargetMatches},
		}
		if got := (&interiors{snap: snap}).settle(frames, 1); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.what, got, tt.want)
		}
		onTheWay := tt.second.Has(unwind.TargetUnclear)
		for may, want := range map[bool]bool{false: tt.want, true: tt.want || onTheWay} {
			n := &interiors{snap: snap, graph: jumping{may: may}}
			if got := n.settle(frames, 1); got != want {
				t.Errorf("%s, jumps through a pointer %t: %t, want %t", tt.what, may, got, want)
			}
		}
		if (&interiors{}).settle(frames, 1) {
			t.Errorf("%s: settled without a stack", tt.what)
		}
	}
}

// TestAgree: one derivation led to the caller of h, whose frame has 16 bytes; the caller's, of 16 bytes
// as well, leads to a proven one. A search of the stack finds the same two return addresses, unless
// another word may be one.
func TestAgree(t *testing.T) {
	const text, inF, inG, stack = 0x400000, 0x400018, 0x400118, 0x7fff0000
	const single = unwind.Executable | unwind.CallBefore | unwind.SPMonotonic | unwind.SPAligned | unwind.SPInStack | unwind.FrameSize
	arch := o32Little()
	code := synth.Stack(arch).Zero(0x200).Place(text)
	for _, ra := range []int{inF, inG} {
		binary.LittleEndian.PutUint32(code.Data[ra-8-text:], 0x0320f809) // jalr t9
	}
	for _, tt := range []struct {
		what      string
		inH, inF  uint64 // other words of the two frames
		own, next unwind.Checks
		want      unwind.Trust
	}{
		{"nothing else is a return address", 0, 0x12345, single, single | unwind.EntryKnown | unwind.TargetMatches, unwind.Certain},
		{"another return address in h's frame", inG, 0, single, single | unwind.EntryKnown | unwind.TargetMatches, unwind.Likely},
		{"another return address in the caller's", 0, inF, single, single | unwind.EntryKnown | unwind.TargetMatches, unwind.Likely},
		{"the caller's size was read from the stack", 0, 0, single, single&^unwind.FrameSize | unwind.EntryKnown | unwind.TargetMatches, unwind.Likely},
		{"the next frame is not proven", 0, 0, single, single | unwind.EntryKnown | unwind.MethodsAgree, unwind.Likely},
		{"a hint of a rule", 0, 0, single | unwind.Disputed, single | unwind.EntryKnown | unwind.TargetMatches, unwind.Likely},
		{"h's size was read from the stack", 0, 0, single &^ unwind.FrameSize, single | unwind.EntryKnown | unwind.TargetMatches, unwind.Likely},
	} {
		s := synth.Stack(arch).Word(tt.inH).Zero(8).Word(inF).Word(tt.inF).Zero(8).Word(inG).Place(stack)
		snap := synth.Capture(arch, []*target.Module{synth.Module(arch, text, code.Data)}, s)
		frames := []unwind.Frame{
			{CFA: stack, HasCFA: true, Trust: unwind.Certain},
			{CFA: stack + 16, HasCFA: true, Method: unwind.MethodCode, Trust: unwind.Certain, Checks: single | unwind.EntryKnown | unwind.TargetMatches},
			{PC: inF, CFA: stack + 32, HasCFA: true, Method: unwind.MethodCode, Trust: unwind.Likely, Checks: tt.own},
			{PC: inG, Method: unwind.MethodCode, Trust: unwind.Certain, Checks: tt.next},
		}
		corroborate(frames, false, syscalls{}, &interiors{snap: snap})
		if frames[2].Trust != tt.want {
			t.Errorf("%s: %v", tt.what, frames[2].Trust)
		}
	}
}

// TestOldReturn: in a frame in doubt lies an old return address, behind a call of f. f keeps its own
// 8 bytes above SP.
func TestOldReturn(t *testing.T) {
	arch, stack := o32Little(), uint64(0x7fff0000)
	const text, f, inA, inB, inC = 0x400000, 0x400100, 0x400018, 0x400218, 0x400258
	code := synth.Stack(arch).Zero(0x300).Place(text)
	binary.LittleEndian.PutUint32(code.Data[inA-8-text:], 0x0c000000|f>>2) // jal f
	for _, ra := range []int{inB, inC} {
		binary.LittleEndian.PutUint32(code.Data[ra-8-text:], 0x0320f809) // jalr t9
	}
	for _, tt := range []struct {
		what string
		old  uint64
		off  int
		want bool
	}{
		{"f's own place", inA, 8, false},
		{"another place", inA, 4, true},
		{"behind an indirect call it may be anybody's", inB, 4, false},
	} {
		frame := synth.Stack(arch).Zero(tt.off).Word(tt.old).Zero(8 - tt.off).Word(inC).Place(stack)
		snap := synth.Capture(arch, []*target.Module{synth.Module(arch, text, code.Data)}, frame)
		within := &interiors{snap: snap, graph: keepsAt{entry: f, off: 8}}
		if got := within.holdsOnly(stack, stack+16, inC, stack); got != tt.want {
			t.Errorf("%s: %t", tt.what, got)
		}
		within.graph = nil
		if within.holdsOnly(stack, stack+16, inC, stack) {
			t.Errorf("%s: known without code", tt.what)
		}
	}
}

func o32Little() *cpu.Arch {
	for _, a := range mips.Archs() {
		if a.ABI == "o32" && !a.BigEndian {
			return a
		}
	}
	panic("no o32")
}

// keepsAt is a CallGraph for which one function keeps its return address at a place above SP.
type keepsAt struct {
	CallGraph
	entry uint64
	off   int64
}

func (k keepsAt) KeepsReturnAt(_ *target.Snapshot, call cpu.CallSite, _ cpu.Mode, off int64) bool {
	return !call.Direct || call.Target != k.entry || off == k.off
}

// jumping is a CallGraph that knows whether direct calls lead on by jumps through pointers.
type jumping struct {
	CallGraph
	may bool
}

func (jumping) KeepsReturnAt(*target.Snapshot, cpu.CallSite, cpu.Mode, int64) bool { return true }

func (j jumping) MayJump(*target.Snapshot, *unwind.Frame, *unwind.Frame) bool { return j.may }
