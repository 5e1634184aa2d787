package code

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// TestDecodeTogether: instructions that a decoder reads together stay so where they
// meet the end of the buffer.
func TestDecodeTogether(t *testing.T) {
	for _, tt := range []struct {
		name  string
		mode  cpu.Mode
		words []uint32
		want  [2]cpu.Insn // what begins the next buffer: Op and Flags
	}{
		{"add; add; mov lr,pc; bx r3", 0, []uint32{0xe2800001, 0xe2800001, 0xe1a0e00f, 0xe12fff13},
			[2]cpu.Insn{{Op: cpu.OpConst, Flags: cpu.FlagAddress}, {Op: cpu.OpCall}}},
		{"adds; adds; it eq; moveq; bx lr", 1, []uint32{0x30013001, 0x4605bf08, 0x47704770},
			[2]cpu.Insn{{Op: cpu.OpNop}, {Op: cpu.OpMove, Flags: cpu.FlagConditional}}},
	} {
		var code []byte
		for _, w := range tt.words {
			code = binary.LittleEndian.AppendUint32(code, w)
		}
		seg := image.Segment{Addr: text, Size: uint64(len(code)), Data: code, Read: true, Exec: true}
		m := newMachine(image.New(image.Header{Arch: arch(t, "arm", "", false), Segments: []image.Segment{seg}}, &functionsOnly{}))
		var buf [3]cpu.Insn
		if n := m.decode(text, tt.mode, buf[:]); n != 2 {
			t.Fatalf("%s: %d instructions at once", tt.name, n)
		}
		m.decode(text+uint64(buf[0].Len+buf[1].Len), tt.mode, buf[:])
		for i, want := range tt.want {
			if got := buf[i]; got.Op != want.Op || got.Flags != want.Flags {
				t.Errorf("%s: instruction %d has op %v, flags %#x", tt.name, i, got.Op, got.Flags)
			}
		}
	}
}
