package heights

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/callee"
	"github.com/backsight/backsight/internal/code/disasm"
)

// transfer follows a transfer of control, with what stands in its delay slot, if
// anything, and ends the block unless that goes on. goesOn: control also comes to what
// stands behind.
func (p *pass) transfer(b *block, in, slot *cpu.Insn, at, after uint32) (goesOn, ok bool) {
	if in.Op == cpu.OpCall {
		goesOn, ok = p.call(b, in, slot, at, after)
	} else {
		goesOn, ok = p.leave(b, in, slot, at)
	}
	if !ok {
		return false, false
	}
	switch {
	case !goesOn:
		p.graph.add(b, after)
	case b.taken != disasm.None || b.flags&leaves != 0:
		b.next = after
		p.graph.add(b, after)
		b.flags &= isTarget
	}
	return goesOn, true
}

// leave follows a jump, return or trap. goesOn: on a condition only.
func (p *pass) leave(b *block, in, slot *cpu.Insn, at uint32) (goesOn, ok bool) {
	// The target of a return is read before the delay slot executes.
	linked := p.record.cur.kept.Has(p.interp.arch.LR) && in.Src == p.interp.arch.LR
	conditional := in.Flags&cpu.FlagConditional != 0
	likely := slot != nil && in.Flags&cpu.FlagLikely != 0
	if slot != nil && !likely && !p.record.exec(&p.interp, slot) {
		return false, false
	}
	if in.Op == cpu.OpJump && !likely {
		return conditional, p.jump(b, in, at)
	}
	notTaken := p.record.cur
	if likely && !p.record.exec(&p.interp, slot) {
		return false, false
	}
	switch in.Op {
	case cpu.OpJump:
		ok = p.jump(b, in, at)
	case cpu.OpReturn:
		ok = p.returns(b, in, linked)
	case cpu.OpLoad, cpu.OpLoadMulti:
		ok = p.returnsByLoad(b, in)
	case cpu.OpTrap:
		ok = true
	}
	p.record.replace(&notTaken)
	return conditional, ok
}

// returns ends at a return. linked: to the address that LR held on entry.
func (p *pass) returns(b *block, in *cpu.Insn, linked bool) bool {
	if in.Flags&cpu.FlagException != 0 {
		return true
	}
	s, arch := &p.record.cur, p.interp.arch
	if in.Src != cpu.NoReg && in.Imm != 0 {
		s.height[arch.SP] += int32(in.Imm)
	}
	b.flags |= leaves
	p.effect = callee.Returning(in)
	return p.interp.undone(s) && (linked || in.Src == cpu.NoReg && arch.CallPushesRA)
}

// returnsByLoad ends at a load of PC: the return address comes from the slot of LR, as
// if LR were loaded and jumped to.
func (p *pass) returnsByLoad(b *block, in *cpu.Insn) bool {
	arch, s, load := p.interp.arch, &p.record.cur, *in
	if in.Op == cpu.OpLoad {
		load.Dst = arch.LR
	} else if in.List.Has(arch.PC) {
		if in.List.Has(arch.LR) {
			return false
		}
		// PC is the highest register and so is the last of the list.
		load.List = in.List.Without(arch.PC)
		at := s.height[arch.SP] + int32(in.Imm) + int32(load.List.Len())*int32(in.Size)
		if in.Base != arch.SP || !s.saved.Has(arch.LR) || s.slot[arch.LR] != at {
			return false
		}
		s.kept, s.saved = s.kept.With(arch.LR), s.saved.Without(arch.LR)
	}
	b.flags |= leaves
	p.effect.Returns = true
	return p.interp.exec(s, &load) && p.interp.undone(s) && s.kept.Has(arch.LR)
}

// jump follows a jump. One that leaves the function with everything undone is a tail
// call. Where SP is lower at the end of a loop than at its beginning, the loop may be one of stack probes.
func (p *pass) jump(b *block, in *cpu.Insn, at uint32) bool {
	if disasm.IndirectJump(in) {
		p.record.number()
		p.gotos = append(p.gotos, p.record.last)
		b.flags |= jumpsOn
		return true
	}
	x, to := &p.extent, disasm.Target(in)
	inside := x.has(to)
	switch {
	case (!inside || to.PC >= x.first) && p.interp.leavable(&p.record.cur) && (p.record.makesFrame || x.entries.IsEntry(to)):
		b.flags |= leaves
	case inside && !(x.cut && x.entries.IsEntry(to)):
		b.taken = uint32(to.PC - x.entry)
		return p.edge(b.taken) || p.seen.Has(b.taken) && p.probes(b, in, at)
	}
	return true
}

// call goes on behind a call that returns. None does that has a literal behind it.
func (p *pass) call(b *block, in, slot *cpu.Insn, at, after uint32) (goesOn, ok bool) {
	arch, r := p.interp.arch, &p.record
	if in.Dst != cpu.NoReg && in.Dst != arch.LR {
		return false, false // millicode: RISC-V's call t0,__riscv_save_0 makes the frame
	}
	conditional := in.Flags&cpu.FlagConditional != 0
	if conditional {
		p.before = r.cur
	}
	waits, ok := p.enterCallee(in, slot, at)
	if !ok {
		return false, false
	}
	entry := p.extent.entry
	next := entry + uint64(after)
	site := callee.Site{Start: entry + uint64(b.start), PC: entry + uint64(at), Next: next}
	if r.cur.pointers.Has(r.sp) {
		site.Depth = arch.EntryCFA - int64(r.cur.height[r.sp])
	}
	effect := p.tables.callEffect(in, site)
	if p.extent.isEntry(next) || p.data.Has(after) || !effect.Returns || p.tables.effects.ReadsNoReturn(in) {
		if conditional {
			r.replace(&p.before)
		}
		return conditional, true
	}
	if effect.Unsaid {
		return false, false
	}
	p.comeBack(&effect, waits)
	if conditional {
		return true, r.meet(&p.before)
	}
	return true, r.cur.pointers.Has(r.sp)
}

// enterCallee executes what a call itself does, and its delay slot. waits is where the
// row begins that holds while the function waits for the return: one byte behind the
// start of the last instruction that executes before the callee.
func (p *pass) enterCallee(in, slot *cpu.Insn, at uint32) (waits uint32, ok bool) {
	r := &p.record
	if in.Dst != cpu.NoReg {
		r.cur.lose(cpu.SetOf(in.Dst))
		r.changed = true
	}
	if slot == nil {
		return at + 1, true
	}
	at += uint32(in.Len)
	r.row(at)
	return at + 1, r.exec(&p.interp, slot)
}

// comeBack makes the current state what holds behind a call that has returned. The row at waits, of
// a frame whose call is still running, has on the stack what the callee will pop.
func (p *pass) comeBack(effect *callee.Effect, waits uint32) {
	r := &p.record
	if clobbered := p.interp.callerSaved; (r.cur.kept|r.cur.pointers)&clobbered != 0 {
		r.cur.lose(effect.Clobbers(clobbered))
		r.changed = true
	}
	r.row(waits)
	if effect.Pops != 0 {
		r.cur.height[r.sp] += int32(effect.Pops)
		r.changed = true
	}
}
