package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// StartHandsOn implements unwind.Witnesses.
func (w witnesses) StartHandsOn(m *target.Module, start, pc uint64, mode cpu.Mode) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return false
	}
	p := w.src.of(m.Image)
	at, main := inImage(m, start), inImage(m, pc)
	first, ok := p.Pointer(m.Image.Entry)
	if !ok || !p.flows.Function(first).Contains(at) {
		return false
	}
	for _, key := range p.entries.HandedOn() {
		if e := p.Addr(key); e.Mode == mode && p.flowHolds(e.PC, main, main, mode) {
			return true
		}
	}
	return false
}
