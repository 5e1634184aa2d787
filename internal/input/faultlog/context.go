package faultlog

import (
	"fmt"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cortexm"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/target"
)

// context is the registers at the fault. issues say what of the report was not believed.
func (w *words) context(arch *cpu.Arch, mem *target.Memory) (regs cpu.Registers, issues []string) {
	w.vals = w.vals.renamed(arch)
	regs, issues = firmware.Registers(arch, w.vals)
	if w.dump != nil {
		regs, issues = w.dumped(arch, regs, issues)
		w.listed = behindFault(arch, w.listed, &regs)
		return regs, issues
	}
	if blank(arch, &regs) {
		return cpu.Registers{}, append(issues, "all registers are printed as 0; they were not saved")
	}
	if status := w.vals.faultStatus(w.said); status.NotPushed() {
		notPushed(arch, &regs)
	} else if arch.Micro() {
		issues = append(issues, w.stackPointer(arch, mem, &regs)...)
		issues = append(issues, noProcessStack(arch, mem, &regs)...)
	}
	if _, ok := regs.Lookup(arch.SP); !ok && len(w.rows) > 0 {
		regs.Set(arch.SP, w.rows[0].Addr)
	}
	w.listed = behindFault(arch, w.listed, &regs)
	lr, hasLR := regs.Lookup(arch.LR)
	if _, ok := regs.Lookup(arch.SP); !ok && hasLR && len(w.listed) == 0 {
		at, _ := arch.SplitCode(lr)
		w.listed = []target.Listed{{PC: at, Searched: true, Doubtful: true}} // in a leaf, the caller
	}
	return regs, issues
}

// notPushed forgets the registers that a handler read out of an exception frame that the processor could not push.
func notPushed(arch *cpu.Arch, regs *cpu.Registers) {
	for _, name := range [...]string{"r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr"} {
		r, _ := arch.RegByName(name)
		regs.Forget(r)
	}
}

// dumped are the registers of a core dump, with those that the text above prints where the dump has none; the text's, where the
// dump's are none of the text's PC.
func (w *words) dumped(arch *cpu.Arch, printed cpu.Registers, issues []string) (cpu.Registers, []string) {
	regs, said := w.dump.registers(arch)
	pc, _ := regs.Lookup(arch.PC)
	if at, ok := printed.Lookup(arch.PC); ok && at != pc {
		if regs = printed; len(said) == 0 {
			said = []string{fmt.Sprintf("the core dump has PC %#x, the text %#x, whose registers are used", pc, at)}
		}
		return regs, append(issues, said...)
	}
	for s := printed.Known &^ regs.Known; s != 0; s = s.Without(s.First()) {
		regs.Set(s.First(), printed.Val[s.First()])
	}
	return regs, said
}

// behindFault are the listed frames from the caller of the place of the fault on. A handler
// that lists its own stack begins with the handler, which the fault interrupted nothing of:
// the frame that returns to where the link register points is the first that counts.
func behindFault(arch *cpu.Arch, listed []target.Listed, regs *cpu.Registers) []target.Listed {
	for _, r := range []cpu.Reg{arch.PC, arch.LR} {
		raw, ok := regs.Lookup(r)
		at, _ := arch.SplitCode(raw)
		i := slices.IndexFunc(listed, func(l target.Listed) bool { return l.PC == at })
		switch {
		case !ok || i < 0:
		case r == arch.PC:
			return listed[i+1:]
		default:
			return listed[i:]
		}
	}
	return listed
}

// calledFrom is the caller as the link register has it, where a report shows nothing of the stack: a guess, for the function may
// have called others since. None is in the PC's own function, where such a call left it.
func calledFrom(p *firmware.Program, regs *cpu.Registers) []target.Listed {
	arch := p.Arch
	raw, ok := regs.Lookup(arch.LR)
	pc, known := regs.Lookup(arch.PC)
	if arch.LR == cpu.NoReg || !ok || !known || raw == 0 || arch.NeverCode(raw) || arch.Micro() && cortexm.ExcReturn(raw).Valid() {
		return nil
	}
	at, _ := arch.SplitCode(raw)
	for _, m := range p.Modules {
		if m.Image == nil {
			continue
		}
		s, named := m.Image.Symbols.At(m.ToImage(pc))
		if c, ok := m.Image.Symbols.At(m.ToImage(at - 1)); named && ok && c.Addr == s.Addr {
			return nil
		}
	}
	return []target.Listed{{PC: at, Searched: true}}
}

// blank tells whether a report's registers were never filled in: CmBacktrace prints its
// variables, which are 0 where the stack had overflown.
func blank(arch *cpu.Arch, regs *cpu.Registers) bool {
	if regs.Known.Len() < 4 {
		return false
	}
	for s := regs.Known; s != 0; s = s.Without(s.First()) {
		if regs.Val[s.First()] != 0 && s.First() != arch.SP {
			return false
		}
	}
	return true
}

// stackPointer finds where SP was before a Cortex-M exception. What a handler prints is the
// address of the exception frame, or that plus the 32 bytes of a basic frame; handlers leave
// out the 72 bytes of an extended frame (EXC_RETURN bit 4), and nearly all of them the word
// of alignment (bit 9 of the stacked xPSR). So the frame itself is looked for: the eight
// words that were printed as registers.
func (w *words) stackPointer(arch *cpu.Arch, mem *target.Memory, regs *cpu.Registers) (issues []string) {
	status, hasStatus := regs.Lookup(arch.Status)
	ret, hasReturn := w.vals.excReturn()
	printed, hasPrinted := regs.Lookup(arch.SP)
	if said, ok := w.vals.of("exc_return"); !hasStatus || ok && !cortexm.ExcReturn(said).Valid() {
		return nil // an assertion's registers, which a call has stored: no frame was pushed (up_saveusercontext of NuttX)
	}
	if at, ok := w.exceptionFrame(arch, mem, regs); ok {
		if !hasReturn && hasPrinted && printed >= at+ret.FrameSize(status)+extendedPart {
			ret &^= 1 << 4
		}
		sp := at + ret.FrameSize(status)
		if hasPrinted && printed != sp {
			issues = append(issues, fmt.Sprintf("SP is printed as %#x; the exception frame at %#x says that it was %#x", printed, at, sp))
		}
		regs.Set(arch.SP, sp)
		return issues
	}
	if len(w.rows) > 0 && w.form.stackAtSP && !hasPrinted {
		regs.Set(arch.SP, w.rows[0].Addr+ret.FrameSize(status)-ret.FrameSize(0))
	}
	return nil
}

// noProcessStack says what a report lacks of a fault in the handler of an interrupt: the registers
// of the task that the handler interrupted lie where PSP points to, which nothing in memory has.
// That a task was interrupted, EXC_RETURN tells, which the handler saved: the first one above SP
// that returns to no other handler.
func noProcessStack(arch *cpu.Arch, mem *target.Memory, regs *cpu.Registers) (issues []string) {
	const reach = 1024 // words
	n := cortexm.ExceptionNumber(regs.Val[arch.Status])
	psp, _ := arch.RegByName("psp")
	sp, ok := regs.Lookup(arch.SP)
	if _, printed := regs.Lookup(psp); printed || n == 0 || !ok {
		return nil
	}
	for i := range uint64(reach) {
		v, ok := mem.Uint(sp+4*i, 4)
		ret := cortexm.ExcReturn(v)
		switch {
		case !ok || ret.Valid() && ret.Thread() && !ret.ProcessStack():
			return nil
		case ret.Valid() && ret.ProcessStack():
			return []string{fmt.Sprintf("the fault is in the handler of %s, and PSP is not printed: "+
				"the task that the handler interrupted is not found from here", cortexm.ExceptionName(n))}
		}
	}
	return nil
}

// extendedPart is by how much the frame grows with floating-point registers.
const extendedPart = 18 * 4

// exceptionFrame finds the frame whose words are the registers that were printed: near SP as
// printed or near the first row of memory, else anywhere in memory if there is one such
// place.
func (w *words) exceptionFrame(arch *cpu.Arch, mem *target.Memory, regs *cpu.Registers) (uint64, bool) {
	var near []uint64
	for _, r := range []string{"sp", "psp", "msp"} {
		if reg, ok := arch.RegByName(r); ok {
			if v, ok := regs.Lookup(reg); ok {
				near = append(near, v)
			}
		}
	}
	if len(w.rows) > 0 {
		near = append(near, w.rows[0].Addr)
	}
	for _, n := range near {
		const basic, extended = cortexm.BasicFrame, cortexm.BasicFrame + extendedPart
		for _, below := range [...]uint64{0, basic, basic + 4, extended, extended + 4} {
			if cortexm.IsFrame(arch, mem, n-below, regs) {
				return n - below, true
			}
		}
	}
	var found []uint64
	for _, s := range mem.Segments() {
		found = append(found, cortexm.Frames(arch, mem, target.Range{Lo: s.Addr, Hi: s.Addr + s.Size()}, regs)...)
	}
	if len(found) != 1 {
		return 0, false
	}
	return found[0], true
}
