package minidump

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/mips"
)

// TestVariant: of MIPS' instruction sets the one counts by which a word on the stack stands behind a call; without such a word, the
// plain one.
func TestVariant(t *testing.T) {
	archs := cpu.Set(mips.Archs())
	plain, _ := archs.ByName("mips", "o32", true)
	for name, call := range map[string]uint32{"release 6": 0xebff_fff5, "plain": 0x0c10_1080, "no call": 0} {
		code := make([]byte, 0x40) // 404200: the call at 404228, and its delay slot
		binary.BigEndian.PutUint32(code[0x28:], call)
		ret := uint32(0x40_422c)
		if name == "plain" {
			ret += 4
		}
		stack := binary.BigEndian.AppendUint32(make([]byte, 8), ret)
		head := make([]byte, 4+threadSize)
		binary.BigEndian.PutUint32(head, 1)
		binary.BigEndian.PutUint32(head[4+32:], uint32(len(stack)))
		binary.BigEndian.PutUint32(head[4+36:], uint32(len(head)))
		d := &dump{data: append(head, stack...), big: true, room: newRoom(1 << 10)}
		d.streams = map[uint32]location{threadList: {rva: 0, size: uint32(len(head))}}
		got := d.variant(plain, archs, []run{{0x40_4200, code}})
		if (got == plain) != (name != "release 6") || got.Name != "mips" || got.ABI != "o32" || !got.BigEndian {
			t.Errorf("%s: %v, %+v", name, got, got.ELF)
		}
	}
}
