package diff

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// normalize restates DWARF expressions as the register rules that they stand for:
// GCC's realigned frames have CFA = [rbp-8], PLT stubs CFA = rsp + 8 or 16 by the
// PC. It evaluates them over registers with values far from one another.
func normalize(arch *cpu.Arch, pc uint64, r *unwind.Rule) {
	if !expressed(r) {
		return
	}
	probe := newProbe(arch)
	probe.regs.Set(arch.PC, pc)
	probe.restate(arch, &r.CFA)
	for i := range r.N {
		probe.restate(arch, &r.Regs[i])
	}
	probe.restate(arch, &r.RA)
}

// expressed tells whether a rule has any expression.
func expressed(r *unwind.Rule) bool {
	is := func(rr *unwind.RegRule) bool {
		return rr.Kind == unwind.Expression || rr.Kind == unwind.ValExpression
	}
	for i := range r.N {
		if is(&r.Regs[i]) {
			return true
		}
	}
	return is(&r.CFA) || is(&r.RA)
}

type probe struct {
	regs cpu.Registers
	mem  *target.Memory
}

func newProbe(arch *cpu.Arch) *probe {
	p := &probe{mem: new(target.Builder).Memory(arch)}
	for r := range arch.Regs {
		p.regs.Set(cpu.Reg(r), spread(r))
	}
	return p
}

// spread is the value of a register, 16 MiB from its neighbours and within 32 bits.
func spread(r int) uint64 { return 0x1000_0000 + uint64(r)<<24 }

func (p *probe) restate(arch *cpu.Arch, rr *unwind.RegRule) {
	if rr.Kind != unwind.Expression && rr.Kind != unwind.ValExpression {
		return
	}
	// As a CFA that is not in memory, or as the slot that could not be read.
	cfa := unwind.Rule{CFA: *rr, RA: unwind.RegRule{Kind: unwind.Constant}}
	var out cpu.Registers
	res, oc := unwind.Apply(arch, &cfa, &p.regs, p.mem, 0, &out)
	switch oc {
	case unwind.Applied:
		p.name(arch, rr, unwind.RegPlus, res.CFA)
	case unwind.MissingMemory:
		p.name(arch, rr, unwind.AtReg, res.Addr)
	}
}

// name finds the register that an address is near to.
func (p *probe) name(arch *cpu.Arch, rr *unwind.RegRule, kind unwind.Kind, a uint64) {
	for r := range arch.Regs {
		if off := int64(a - spread(r)); off > -1<<22 && off < 1<<22 {
			*rr = unwind.RegRule{Kind: kind, Reg: rr.Reg, Base: cpu.Reg(r), Off: off}
			return
		}
	}
}
