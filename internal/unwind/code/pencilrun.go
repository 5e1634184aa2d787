package code

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
)

// seek goes to the instruction at pc, if that is decoded.
func (p *pencil) seek(pc uint64) {
	at := p.pc
	for p.i = 0; p.i < p.n && at < pc; p.i++ {
		at += uint64(p.buf[p.i].Len)
	}
	if at != pc || p.i > 0 && p.leads(&p.buf[p.i-1], p.mode) {
		p.i, p.n = 0, 0
	}
}

// next is the instruction at pc, where p stands; nil if there is none.
func (p *pencil) next(pc uint64) *cpu.Insn {
	if p.i == p.n {
		return p.fetch(pc)
	}
	p.i++
	return &p.buf[p.i-1]
}

// fetch is next where nothing is decoded.
func (p *pencil) fetch(pc uint64) *cpu.Insn {
	p.i, p.n, p.pc = 0, p.decode(pc, p.mode, p.buf[:]), pc
	if p.n == 0 {
		return nil
	}
	p.i = 1
	return &p.buf[0]
}

// slot is what stands in the delay slot of the instruction at pc, which is the last that
// next gave; that may move. nil where the code ends.
func (p *pencil) slot(pc uint64) (in, slot *cpu.Insn) {
	if p.i == p.n {
		if p.fetch(pc); p.n < 2 {
			return nil, nil
		}
	}
	p.i++
	return &p.buf[p.i-2], &p.buf[p.i-1]
}

// run goes on from a place to where control never goes on, or into what was visited.
func (p *pencil) run(at uint32) bool {
	n := node{start: at, next: nowhere, taken: nowhere}
	if p.gap {
		n.flags = nodeGap
	}
	if p.seen.has(at) {
		return p.holdsAt(at)
	}
	p.row(at, true)
	p.seek(p.entry + uint64(at))
	for p.stop = p.ahead(at + 1); ; {
		if at >= p.stop {
			if ends, ok := p.look(&n, at); ends || !ok {
				return ok
			}
		}
		pc, slot := p.entry+uint64(at), (*cpu.Insn)(nil)
		in := p.next(pc)
		if p.steps++; in == nil || p.steps > maxSketch || in.Op == cpu.OpUnknown {
			return false
		}
		p.seen.add(at)
		after := at + uint32(in.Len)
		if in.Flags&cpu.FlagDelaySlot != 0 {
			if in, slot = p.slot(pc); slot == nil {
				return false
			}
			p.seen.add(after)
			after += uint32(slot.Len)
		}
		switch {
		case p.idle(in):
		case p.transfers(in):
			goesOn, ok := p.transfer(&n, in, slot, at, after)
			if !ok {
				return false
			}
			if !goesOn {
				p.end(&n, after)
				return true
			}
			if n.taken != nowhere || n.flags&nodeExit != 0 {
				n.next = after
				p.end(&n, after)
				n.start, n.next, n.taken, n.flags = after, nowhere, nowhere, n.flags&nodeGap
			}
		case !p.act(in):
			return false
		}
		if !p.same || p.last != p.rowed {
			p.row(after, false)
		}
		at = after
	}
}

// look ends a node at a place that was visited, to which another way comes, or where the
// function ends. ends: nobody goes on from there.
func (p *pencil) look(n *node, at uint32) (ends, ok bool) {
	pc := p.entry + uint64(at)
	i, found := p.waypoint(at)
	switch {
	case p.seen.has(at):
		n.next = at
		p.end(n, at)
		return true, p.holdsAt(at)
	case pc >= p.limit, p.cut && pc >= p.first && p.an.isEntry(pc, p.mode):
		p.end(n, at)
		return true, true
	case found:
		n.next = at
		p.end(n, at)
		n.start, n.next = at, nowhere
		ok = p.joined(i)
	default:
		ok = true
	}
	p.stop = p.ahead(at + 1)
	return false, ok
}

// ahead is the next place from at on that needs a look: one that was visited, to which
// another way comes, or where the function may end.
func (p *pencil) ahead(at uint32) uint32 {
	stop := min(p.seen.next(at), uint32(p.limit-p.entry))
	if p.cut {
		stop = min(stop, uint32(p.first-p.entry))
	}
	if i, found := p.waypoint(at); found {
		stop = at
	} else if i > 0 {
		stop = min(stop, p.todo[i-1].at)
	}
	return max(stop, at)
}

// waypoint is the index of a place in todo, or where it would be inserted.
func (p *pencil) waypoint(at uint32) (int, bool) {
	if n := len(p.todo); n == 0 || p.todo[n-1].at > at {
		return n, false
	}
	return slices.BinarySearchFunc(p.todo, at, func(t waypoint, at uint32) int { return cmp.Compare(at, t.at) })
}

// end closes a node.
func (p *pencil) end(n *node, at uint32) {
	n.end = at
	if n.end <= n.start {
		return
	}
	p.nodes = append(p.nodes, *n)
	if p.gap {
		p.drawn.addAll(n.start, n.end)
	}
}

// joined makes the frame at hand what holds on all ways that have come to a place in
// todo.
func (p *pencil) joined(i int) bool {
	at, other := p.todo[i].at, p.todo[i].frame
	p.todo = slices.Delete(p.todo, i, i+1)
	if other == p.last && p.same {
		p.row(at, true)
		return true
	}
	p.cur.meet(&p.frames[other])
	p.same = false
	p.row(at, true)
	return p.cur.derived.Has(p.arch.SP)
}

// step executes an instruction that does not transfer control.
func (p *pencil) step(in *cpu.Insn) bool { return p.idle(in) || p.act(in) }

// act executes one that is not idle.
func (p *pencil) act(in *cpu.Insn) bool {
	if p.presumes(in) {
		return false
	}
	if in.Flags&cpu.FlagConditional != 0 {
		return p.perhaps(in)
	}
	p.same = false
	return p.apply(&p.cur, in)
}

// perhaps executes an instruction that may not happen.
func (p *pencil) perhaps(in *cpu.Insn) bool {
	f := p.cur
	if !p.apply(&f, in) {
		return false
	}
	p.same = false
	p.cur.meet(&f)
	return p.cur.derived.Has(p.arch.SP)
}

// idle tells whether an instruction cannot change what a frame says, nor transfers
// control or presumes anything: most cannot.
func (p *pencil) idle(in *cpu.Insn) bool {
	f := &p.cur
	switch in.Op {
	case cpu.OpNop:
		return true
	case cpu.OpClobber, cpu.OpSyscall:
		return in.List&(f.kept|f.derived) == 0
	case cpu.OpLoad:
		entry := f.kept & p.unused
		return in.WB == 0 && !p.watched.Has(in.Dst) && !p.watched.Has(in.Dst2) && !entry.Has(in.Base) && !entry.Has(in.Index)
	case cpu.OpStore:
		entry := f.kept & p.unused
		return in.WB == 0 && !(entry | f.derived).Has(in.Base) && !entry.Has(in.Index)
	case cpu.OpMove, cpu.OpAddImm:
		return !p.watched.Has(in.Dst) && !(f.kept & p.unused).Has(in.Src)
	case cpu.OpConst, cpu.OpInsert, cpu.OpAdd, cpu.OpSub, cpu.OpOrImm, cpu.OpAndImm, cpu.OpShlImm, cpu.OpOr, cpu.OpCompareImm:
		return !p.watched.Has(in.Dst)
	}
	return false
}

// presumes tells whether an instruction uses what a preserved register held on
// entry, as no function does at its beginning: entry is a label or a landing pad.
func (p *pencil) presumes(in *cpu.Insn) bool {
	entry := p.cur.kept & p.unused
	switch in.Op {
	case cpu.OpMove, cpu.OpAddImm:
		return entry.Has(in.Src)
	case cpu.OpLoad, cpu.OpStore, cpu.OpLoadMulti, cpu.OpStoreMulti:
		return entry.Has(in.Base) || entry.Has(in.Index)
	}
	return false
}

// transfer follows the end of a node, or a call. goesOn: control comes behind it as
// well.
func (p *pencil) transfer(n *node, in, slot *cpu.Insn, at, after uint32) (goesOn, ok bool) {
	conditional := in.Flags&cpu.FlagConditional != 0
	linked := p.arch.LR != cpu.NoReg && in.Src == p.arch.LR && p.cur.kept.Has(p.arch.LR)
	if in.Op == cpu.OpCall {
		return p.call(in, slot, at, after)
	}
	likely := in.Flags&cpu.FlagLikely != 0
	if slot != nil && !likely && !p.step(slot) {
		return false, false
	}
	if in.Op == cpu.OpJump && !likely {
		return conditional, p.jump(n, in, at)
	}
	other := p.cur // where it is not taken
	if likely && !p.step(slot) {
		return false, false
	}
	switch in.Op {
	case cpu.OpJump:
		ok = p.jump(n, in, at)
	case cpu.OpReturn:
		ok = p.leaves(n, in, linked)
	case cpu.OpLoad, cpu.OpLoadMulti:
		ok = p.leavesByLoad(n, in)
	case cpu.OpTrap:
		ok = true
	}
	p.cur, p.same = other, false
	return conditional, ok
}

// leaves ends at a return.
func (p *pencil) leaves(n *node, in *cpu.Insn, linked bool) bool {
	if in.Flags&cpu.FlagException != 0 {
		return true
	}
	if in.Src != cpu.NoReg && in.Imm != 0 {
		p.cur.off[p.arch.SP] += int32(in.Imm)
	}
	n.flags |= nodeExit
	p.summary = returning(in)
	return p.undone(&p.cur) && (in.Src == cpu.NoReg && p.arch.LR == cpu.NoReg || linked)
}

// leavesByLoad ends at a load of PC: the return address comes from its slot.
func (p *pencil) leavesByLoad(n *node, in *cpu.Insn) bool {
	back, lr := *in, p.arch.LR
	if in.Op == cpu.OpLoad {
		back.Dst = lr
	} else if in.List.Has(p.arch.PC) {
		if in.List.Has(lr) {
			return false
		}
		// PC is the highest register and so is the last of the list.
		back.List = in.List.Without(p.arch.PC)
		at := p.cur.off[p.arch.SP] + int32(in.Imm) + int32(back.List.Len())*int32(in.Size)
		if in.Base != p.arch.SP || !p.cur.saved.Has(lr) || p.cur.slot[lr] != at {
			return false
		}
		p.cur.kept, p.cur.saved = p.cur.kept.With(lr), p.cur.saved.Without(lr)
	}
	n.flags |= nodeExit
	p.summary.returns = true
	return lr != cpu.NoReg && p.apply(&p.cur, &back) && p.undone(&p.cur) && p.cur.kept.Has(lr)
}

// jump follows a jump. One that leaves the function with everything undone is a tail
// call.
func (p *pencil) jump(n *node, in *cpu.Insn, at uint32) bool {
	gone := p.undone(&p.cur) && (p.arch.LR == cpu.NoReg || p.cur.kept.Has(p.arch.LR))
	if in.Flags&(cpu.FlagTable|cpu.FlagMemory) != 0 || in.Src != cpu.NoReg && in.Target == 0 {
		p.intern()
		p.open = append(p.open, p.last)
		n.flags |= nodeOpen
		return true
	}
	to := in.Target
	inside := in.TargetMode == p.mode && to >= p.entry && to < p.limit
	switch {
	case (!inside || to >= p.first) && gone && (p.made || p.an.isEntry(to, in.TargetMode)):
		n.flags |= nodeExit
	case inside && !(p.cut && p.an.isEntry(to, in.TargetMode)):
		n.taken = uint32(to - p.entry)
		return p.edge(n.taken)
	}
	return true
}

// call goes on behind a call that returns.
func (p *pencil) call(in, slot *cpu.Insn, at, after uint32) (goesOn, ok bool) {
	if in.Dst != cpu.NoReg && in.Dst != p.arch.LR {
		return false, false // millicode
	}
	conditional := in.Flags&cpu.FlagConditional != 0
	before := &p.kept
	if conditional {
		*before = p.cur
	}
	if in.Dst != cpu.NoReg {
		p.cur.lose(cpu.SetOf(in.Dst))
		p.same = false
	}
	behind := at + 1
	if slot != nil {
		p.row(at+uint32(in.Len), false)
		if !p.step(slot) {
			return false, false
		}
		behind = at + uint32(in.Len) + 1
	}
	to := p.calls(in)
	if p.isNext(after) || !to.returns || p.an.readsNoReturn(in) {
		if conditional {
			p.cur, p.same = *before, false
		}
		return conditional, true
	}
	if was := p.cur.kept | p.cur.derived; was&p.callerSaved != 0 {
		p.cur.lose(to.clobbers(p.callerSaved))
		p.same = false
	}
	p.row(behind, false)
	if to.pops != 0 {
		// A caller that waits has what the callee removes still on the stack.
		p.cur.off[p.arch.SP] += int32(to.pops)
		p.same = false
	}
	if conditional {
		p.cur.meet(before)
		p.same = false
	}
	return true, p.cur.derived.Has(p.arch.SP)
}

// calls tells what a call does; an indirect one returns.
func (p *pencil) calls(in *cpu.Insn) callee {
	if in.Src != cpu.NoReg || in.Flags&cpu.FlagMemory != 0 {
		return callee{summary{returns: true}, cpu.NoReg}
	}
	return p.an.callee(jump{in.Target, in.TargetMode})
}

// isNext tells whether another function begins at a place.
func (p *pencil) isNext(at uint32) bool {
	pc := p.entry + uint64(at)
	return pc >= p.first && p.an.isEntry(pc, p.mode)
}
