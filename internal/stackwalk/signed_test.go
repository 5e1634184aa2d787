package stackwalk_test

import (
	"testing"

	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestSignedReturnAddress: AArch64's return addresses as pacibsp signs them, in
// user and kernel space, of address spaces of 48 and 39 bits, and what is none.
func TestSignedReturnAddress(t *testing.T) {
	arch := arm64.Archs()[0]
	for _, c := range []struct {
		name         string
		code, signed uint64
		mask         uint64 // that the capture tells
		found        bool
	}{
		{"not signed", 0x40_0000, 0x40_0014, 0, true},
		{"48 bits", 0x40_0000, 0x0019_0000_0040_0014, 0, true},
		{"39 bits", 0x55_0040_0000, 0x0e5b_3555_0040_0014, 0, true},
		{"a tag above the signature", 0x40_0000, 0xa719_0000_0040_0014, 0, true},
		{"the kernel's", 0xffff_8000_0040_0000, 0xe89f_8000_0040_0014, 0, true},
		{"the capture tells 48 bits", 0x40_0000, 0x0019_0000_0040_0014, 1<<48 - 1, true},
		{"the capture tells 52 bits", 0x40_0000, 0x0019_0000_0040_0014, 1<<52 - 1, false},
		{"the capture tells 52 bits of the kernel's", 0xffff_9436_0040_0000, 0x2b8f_9436_0040_0014, 1<<52 - 1, true},
		{"nowhere", 0x40_0000, 0x0019_0000_0080_0014, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			code := make([]byte, 0x200)
			copy(code[0x10:], "\x3c\x00\x00\x94") // bl 100
			stack := synth.Stack(arch).Words(0, c.signed).Place(c.code + 0x10_0000)
			snap := synth.Capture(arch, []*target.Module{synth.Module(arch, c.code, code)}, stack)
			snap.CodeMask = c.mask
			regs := synth.Regs(arch, map[string]uint64{"pc": c.code + 0x100, "sp": stack.Base})
			snap.Threads = []target.Thread{{ID: 1, Regs: *regs}}
			src := rules{method: unwind.MethodCFI, at: map[uint64][]stackwalk.Rule{c.code + 0x100: {saved(arch, 16, 0)}}}
			frames, _ := walk(snap, stackwalk.Options{Sources: []stackwalk.Source{src}})
			if found := len(frames) == 2 && frames[1].PC == c.code+0x14; found != c.found {
				t.Errorf("%#x, want the caller found: %v", pcs(frames), c.found)
			}
		})
	}
}
