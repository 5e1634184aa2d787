package callsite

import (
	"iter"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// nearBits are the bits of addresses that are in memory together: Linux maps this much of a file for
// a look at one byte.
const nearBits = 1 << 16

// farBit bounds OneBitAway: a larger text than 16 MB is rare. Functions that far apart may well have
// frames of one size: setjmp tests on MIPS, with calls at 0x400e40 and 0x440e40.
const farBit = 1 << 24

// OneBitAway are the image addresses in text that differ from at in one bit and lie behind a call,
// and that call.
func OneBitAway(m *target.Module, text *image.Segment, at uint64, mode cpu.Mode) iter.Seq2[uint64, cpu.CallSite] {
	return func(yield func(uint64, cpu.CallSite) bool) {
		for bit := max(m.Image.Arch.InsnAlign, 1); bit < farBit; bit <<= 1 {
			code, ok := before(text, at^bit)
			if !ok {
				continue
			}
			if bit >= nearBits {
				code = m.Image.Files.Peek(code)
			}
			if call, ok := callIn(m, code, at^bit, mode); ok && !yield(at^bit, call) {
				return
			}
		}
	}
}
