package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
)

// WithinInstruction implements unwind.Witnesses. Bytes that look like a call may be part of another
// instruction where instructions have any length: in front of 0x2b7a9b of libcrypto for i386,
//
//	2b7a93  8d 83 30 00 ff ff  lea  -0xffd0(%ebx),%eax
//	2b7a99  50                 push %eax
//	2b7a9a  e8 31 1c db ff     call ERR_load_strings_const@plt
//
// ff 50 e8 would be call *-0x18(%eax). The nearest function that has the place tells, whose entry is
// certain, else that to whose entry a pointer leads: control comes over the bytes, and no instruction begins with their first.
func (w witnesses) WithinInstruction(m *target.Module, pc uint64, mode cpu.Mode) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil || m.Image.Arch.InsnAlign > 1 {
		return false
	}
	p := w.src.of(m.Image)
	at := disasm.Addr{PC: inImage(m, pc), Mode: mode}
	for _, e := range p.entries.Below(at) {
		f := p.flows.Function(disasm.Addr{PC: e, Mode: mode})
		if f.Contains(at.PC) {
			return skips(f, at)
		}
	}
	f := pointedOwner(p, at)
	return f != nil && f.Contains(at.PC) && skips(f, at)
}

// skips tells whether control comes over a place of a function where no instruction begins.
func skips(f *dataflow.Function, at disasm.Addr) bool {
	var st absint.State
	return !f.ByGuess(at.PC) && !f.StateAt(at, &st)
}
