package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// maxRun is how many bytes of code in front of a place are looked at.
const maxRun = 64

// BehindSyscall implements unwind.CallGraph. It decodes from the first place in front of pc
// from which instructions lead there, so that it has fallen into step on the way.
func (s *Source) BehindSyscall(m *target.Module, pc uint64, mode cpu.Mode) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return false
	}
	arch := m.Image.Arch
	pc = m.ToImage(pc) & arch.AddrMask()
	var buf [maxRun]cpu.Insn
	for from := pc - maxRun; from < pc; from += max(uint64(arch.InsnAlign), 1) {
		n := arch.Decoder.Decode(m.Image.Code(from), from, mode, buf[:])
		for i, at := 0, from; i < n && at < pc; i++ {
			if at += uint64(buf[i].Len); at == pc {
				return buf[i].Op == cpu.OpSyscall
			}
		}
	}
	return false
}
