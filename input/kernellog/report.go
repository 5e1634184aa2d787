package kernellog

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/input/console"
	"github.com/backsight/backsight/target"
)

// report makes a console's report of a record; nil where nobody knows the processor.
func (k *kernelLog) report(r *record, env *input.Env) *console.Report {
	arch := k.arch(r, env.Archs)
	if arch == nil {
		return nil
	}
	out := &console.Report{Title: r.title(), Arch: arch, OS: "Linux", Modules: k.modules}
	out.Thread.Crashed = r.crash
	if r.crash {
		out.Fault = &target.Fault{Name: r.reason(), Address: r.fault.addr, HasAddress: r.fault.known}
	}
	out.Thread.Regs = registersOf(r, arch)
	out.Thread.Listed = chain(r, arch)
	out.Thread.Memory = memoryOf(r, arch, &out.Thread.Regs)
	return out
}

// arch is the processor of a record: as its registers tell, else the log's.
func (k *kernelLog) arch(r *record, archs cpu.Set) *cpu.Arch {
	m, ok := machineOf(r)
	if !ok {
		m = k.machine
	}
	return archOf(archs, m, false)
}

// registersOf are the registers whose values the record has.
func registersOf(r *record, arch *cpu.Arch) (regs cpu.Registers) {
	for i := range r.regs {
		reg := &r.regs[i]
		if n, ok := arch.RegByName(reg.name); ok && reg.known {
			regs.Set(n, reg.value&arch.AddrMask())
		}
	}
	return regs
}

// memoryOf is the memory that the record shows: of the stack, and the code at the PC.
func memoryOf(r *record, arch *cpu.Arch, regs *cpu.Registers) *target.Memory {
	var b target.Builder
	if pc, ok := regs.Lookup(arch.PC); ok && r.hasCode {
		data, at := r.code.bytes(arch.BigEndian)
		b.Add(pc-uint64(at), data, 0, target.PermRead|target.PermExec)
	}
	sp, _ := regs.Lookup(arch.SP)
	r.stack.addTo(&b, arch, sp)
	return b.Memory(arch)
}

// chain is the call chain of a record, from where the PC is.
//
// The kernel's list begins at the PC on some processors, at its caller on others. Where the
// PC's function had saved no link register, the list lacks the function's caller, which is
// where the link register points to: on arm64, leaf_deref is listed with mid_b behind it
// while "lr : mid_c+0x2c/0x3c" says who called. A link register within the PC's own function
// is left over from a call that came back.
func chain(r *record, arch *cpu.Arch) []target.Listed {
	listed := slices.Clone(r.trace.listed)
	pc := r.reg("pc", "epc", "rip", "eip")
	if pc == nil || len(listed) > 0 && listed[0].Exact && listed[0].Symbol != pc.at.symbol {
		return listed
	}
	at := 0
	if len(listed) > 0 && samePlace(&listed[0], &pc.at) {
		listed[0].Exact, at = true, 1
	} else if pc.at.symbol != "" || pc.known && pc.value != 0 {
		first := pc.at.listed()
		first.PC, first.Exact = pc.value, true
		if len(listed) > 0 && listed[0].Exact { // ARM names the PC's function first
			listed = listed[1:]
		}
		listed, at = slices.Insert(listed, 0, first), 1
	}
	if lr := r.reg("lr", "ra"); lr != nil && arch.LR != cpu.NoReg && lr.at.symbol != "" && lr.at.function() != pc.at.function() &&
		(at >= len(listed) || !samePlace(&listed[at], &lr.at)) {
		caller := lr.at.listed()
		if lr.known {
			caller.PC = lr.value
		}
		listed = slices.Insert(listed, at, caller)
	}
	return listed
}

// samePlace tells whether an entry of a chain is the place p.
func samePlace(l *target.Listed, p *place) bool {
	return l.Symbol == p.symbol && l.Offset == p.offset && l.Module == p.module && p.symbol != ""
}

// placed are the modules whose addresses the log has.
func (f *facts) placed() (mods []*target.Module) {
	for name, m := range f.modules {
		if m.Lo < m.Hi {
			mods = append(mods, &target.Module{Name: name, Range: m.Range})
		}
	}
	return mods
}
