package unwind

import (
	"testing"

	"github.com/backsight/backsight/cpu/mips"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
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
	const sound = Executable | CallBefore | SPMonotonic | SPAligned | SPInStack | MethodsAgree | EntryKnown | FrameSize
	for _, tt := range []struct {
		what   string
		first  uint64 // word of the frame in doubt
		second Checks
		want   bool
	}{
		{"nothing else is a return address", 0, sound, true},
		{"a number", 0x12345, sound, true},
		{"code that no call returns to", inA - 8, sound, true},
		{"another return address: of a function that was skipped", inC, sound, false},
		{"the next frame's, once more", inB, sound, false},
		{"a direct call elsewhere on the way", 0, sound | TargetUnclear, false},
		{"a size that was read from the stack", 0, sound &^ FrameSize, false},
	} {
		s := synth.Stack(arch).Word(tt.first).Zero(4).Word(inB).Zero(4).Zero(8).Word(inC).Zero(4).Place(stack)
		snap := synth.Capture(arch, []*target.Module{synth.Module(arch, text, code.Data)}, s)
		frames := []Frame{
			{CFA: stack, HasCFA: true},
			{PC: inA, CFA: stack + 16, HasCFA: true, Method: MethodCode, Trust: Likely, Checks: sound | TargetUnclear},
			{PC: inB, CFA: stack + 32, HasCFA: true, Method: MethodCode, Trust: Certain, Checks: tt.second},
			{PC: inC, Method: MethodCode, Trust: Certain, Checks: sound | TargetMatches},
		}
		if got := (interiors{snap}).settle(frames, 1); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.what, got, tt.want)
		}
		if (interiors{}).settle(frames, 1) {
			t.Errorf("%s: settled without a stack", tt.what)
		}
	}
}
