package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// StartHandsOn implements unwind.CallGraph. On i386 _start reads main's address from the GOT and
// pushes that: the stack has what the code does not tell.
func (w *Graph) StartHandsOn(m *target.Module, start, passed, pc uint64, mode cpu.Mode) bool {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return false
	}
	p := w.of(m.Image)
	at, main := inImage(m, start), inImage(m, pc)
	first, ok := p.Pointer(m.Image.Entry)
	if !ok || !p.Flows.Function(first).Contains(at) {
		return false
	}
	for _, key := range p.Entries.HandedOn() {
		if e := p.Addr(key); e.Mode == mode && p.flowHolds(e.PC, main, main, mode) {
			return true
		}
	}
	e, ok := p.Pointer(inImage(m, passed))
	return ok && m.Contains(passed) && e.Mode == mode && p.flowHolds(e.PC, main, main, mode)
}
