package callsite

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// Patched tells whether ra, a return address to m that no call of the file stands before, is where a call
// returns to that replaced a longer one when the program started. Linux for x86 does so in place
// (arch/x86/kernel/alternative.c), and fills the rest with nops:
//
//	file      default_idle+0x4:  call *pv_ops+0x…(%rip)          6 bytes
//	running   default_idle+0x4:  call pv_native_safe_halt        5 bytes, returns to default_idle+0x9
//	file                         call __x86_indirect_thunk_r11   5 bytes
//	running                      call *%r11                      3 bytes; 2 for the lower registers
func Patched(m *target.Module, ra uint64, mode cpu.Mode) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil || !m.Image.Arch.CallPushesRA {
		return false
	}
	at := m.ToImage(ra) & m.Image.Arch.AddrMask()
	for _, call := range [...]struct {
		now  uint64
		file uint8
	}{{5, 6}, {3, 5}, {2, 5}} {
		var in [1]cpu.Insn
		text := m.Image.Segments.Code(at - call.now)
		if m.Image.Arch.Decoder.Decode(text, at-call.now, mode, in[:]) == 1 && in[0].Op == cpu.OpCall && in[0].Len == call.file {
			return true
		}
	}
	return false
}
