package exception

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/internal/synth"
)

// TestReturns: a function whose only way leads into a call that never returns does not return,
// whatever stands behind the call.
func TestReturns(t *testing.T) {
	const callNext = 8<<20 | ra<<7 | 0x6f // jal ra, the word after the next one
	var code []byte
	for _, w := range []uint32{
		callNext, ret, // 0x00: calls 0x08
		0x6f,          // 0x08: j .
		callNext, ret, // 0x0c: calls 0x14
		ret,           // 0x14
		ra<<7 | 0x6f,  // 0x18: jal ra, . calls itself
		ret,           // 0x1c
		t0<<15 | 0x67, // 0x20: jr t0
		0x13,          // 0x24: nop, and no more code
	} {
		code = binary.LittleEndian.AppendUint32(code, w)
	}
	m := synth.Module(rv32(), flash, code)
	for entry, want := range map[uint64]bool{0: false, 8: false, 0xc: true, 0x14: true, 0x18: true, 0x20: true, 0x24: true} {
		r := returning{img: m.Image, known: make(map[uint64]bool)}
		if got := r.returns(m.ToImage(flash + entry)); got != want {
			t.Errorf("%#x: %v, want %v", entry, got, want)
		}
	}
}
