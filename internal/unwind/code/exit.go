package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

const (
	exitSteps = 3000 // instructions executed in one search for exits
	exitPaths = 64   // paths followed
	exitWant  = 3    // exits gathered
)

// exit is a way from a place to the caller: the rule that it implies and what it
// crosses on the way.
type exit struct {
	rule unwind.Rule
	// calls that it falls through: each may never return, and then the path does
	// not exist.
	calls int
	// tail: it leaves by a jump to another function.
	tail bool
}

type exitKey struct {
	pc    uint64
	mode  cpu.Mode
	after bool
}

// exits follows the code from pc to returns. after: pc is where a call returns
// to, so that only preserved registers are as the frame left them.
func (an *analysis) exits(pc uint64, mode cpu.Mode, after bool) []exit {
	k := exitKey{pc, mode, after}
	if e, ok := an.exitCache[k]; ok {
		return e
	}
	w := exitWalk{machine: newMachine(an.img), an: an, after: after, seen: map[uint64]bool{}}
	e := w.run(pc, mode)
	if len(an.exitCache) >= 4*generation {
		clear(an.exitCache)
	}
	an.exitCache[k] = e
	return e
}

type exitWalk struct {
	machine
	an    *analysis
	after bool
	seen  map[uint64]bool
	paths []*path
	found []exit
	steps int
	insns [16]cpu.Insn
}

type path struct {
	at    jump
	calls int
	order int
	st    state
}

func (w *exitWalk) run(pc uint64, mode cpu.Mode) []exit {
	p := &path{at: jump{pc, mode}}
	p.st.reset(w.arch)
	if w.after {
		for s := w.callerSaved; s != 0; s = s.Without(s.First()) {
			p.st.regs[s.First()] = value{}
		}
	}
	w.paths = append(w.paths, p)
	for len(w.paths) > 0 && w.steps < exitSteps && len(w.found) < exitWant {
		w.follow(w.take())
	}
	return w.found
}

// take removes the path that crosses the fewest calls, the oldest of those.
func (w *exitWalk) take() *path {
	best := 0
	for i, p := range w.paths {
		if b := w.paths[best]; p.calls < b.calls || p.calls == b.calls && p.order < b.order {
			best = i
		}
	}
	p := w.paths[best]
	w.paths = append(w.paths[:best], w.paths[best+1:]...)
	return p
}

func (w *exitWalk) fork(st *state, to jump, calls int) {
	if len(w.paths) >= exitPaths || w.seen[to.to] || w.img.Code(to.to) == nil {
		return
	}
	p := &path{at: to, calls: calls, order: w.steps}
	p.st.copyFrom(st)
	w.paths = append(w.paths, p)
}

// follow executes a path to its next transfer.
func (w *exitWalk) follow(p *path) {
	for pc := p.at.to; ; {
		n := w.decode(pc, p.at.mode, w.insns[:])
		if n == 0 {
			return
		}
		for i := 0; i < n; i++ {
			in := &w.insns[i]
			if w.seen[pc] {
				return
			}
			if w.steps++; w.steps > exitSteps {
				return
			}
			next := pc + uint64(in.Len)
			if !w.transfers(in) {
				w.seen[pc] = true
				w.exec(&p.st, in, pc)
				pc = next
				continue
			}
			var slot *cpu.Insn
			if in.Flags&cpu.FlagDelaySlot != 0 {
				if i+1 >= n && pc != p.at.to {
					p.at.to = pc
					break // decode again from here, with the slot
				}
				if i+1 < n {
					slot = &w.insns[i+1]
					next += uint64(slot.Len)
				}
			}
			w.seen[pc] = true
			w.transfer(p, in, slot, pc, next)
			return
		}
	}
}

func (w *exitWalk) transfer(p *path, in, slot *cpu.Insn, pc, next uint64) {
	conditional := in.Flags&cpu.FlagConditional != 0
	st := &p.st
	slotAt := pc + uint64(in.Len)
	var early cpu.Insn
	if w.overtaken(st, in, slot, &early) {
		in = &early
	}
	if slot != nil && in.Flags&cpu.FlagLikely == 0 {
		w.exec(st, slot, slotAt)
	}
	if conditional {
		w.fork(st, jump{next, p.at.mode}, p.calls)
	}
	if slot != nil && in.Flags&cpu.FlagLikely != 0 {
		w.exec(st, slot, slotAt)
	}
	switch in.Op {
	case cpu.OpCall:
		w.call(p, in, pc, next)
	case cpu.OpJump:
		if to, ok := w.target(st, in); ok {
			w.jumpTo(p, to)
		} else if in.Flags&(cpu.FlagTable|cpu.FlagMemory) == 0 {
			w.leave(p, w.register(st, in), in)
		}
	case cpu.OpReturn:
		w.leave(p, w.returnTarget(st, in), in)
	case cpu.OpLoad, cpu.OpLoadMulti:
		w.effect(st, in, pc)
		w.leave(p, w.loadedPC(st, in), in)
	}
}

func (w *exitWalk) call(p *path, in *cpu.Insn, pc, next uint64) {
	target, known := w.target(&p.st, in)
	if in.Dst != w.arch.LR && in.Dst != cpu.NoReg && known {
		p.st.set(in.Dst, constant(int64(next)), w.arch)
		w.fork(&p.st, target, p.calls)
		return
	}
	if w.neverReturns(w.an, &p.st, in, target, known) || w.an.isEntry(next, p.at.mode) {
		return
	}
	w.callee(w.an, &p.st, in, target, known, pc, next)
	w.fork(&p.st, jump{next, p.at.mode}, p.calls+1)
}

// jumpTo follows a jump. To the start of another function, with the return
// address back in its register, it is a tail call: an exit like a return.
func (w *exitWalk) jumpTo(p *path, to jump) {
	if w.an.isEntry(to.to, to.mode) && w.released(&p.st) {
		w.record(p, w.callerOf(&p.st), true)
		return
	}
	w.fork(&p.st, to, p.calls)
}

// released tells whether a jump to a function can be a tail call: the return
// address was reloaded, or never left its register, and SP is known.
func (w *exitWalk) released(st *state) bool {
	sp := st.regs[w.arch.SP]
	if w.arch.LR == cpu.NoReg {
		return sp.kind == addr
	}
	lr := st.regs[w.arch.LR]
	switch {
	case lr.kind == contents:
		return sp.kind == addr && (sp.base != lr.base || sp.off > lr.off)
	case lr.isStart(w.arch.LR):
		return sp.isStart(w.arch.SP)
	}
	return false
}

// callerOf is where a tail-called function will return to.
func (w *exitWalk) callerOf(st *state) value {
	if w.arch.LR == cpu.NoReg {
		return st.load(st.regs[w.arch.SP], uint8(w.arch.RegSize))
	}
	return st.regs[w.arch.LR]
}

// leave ends a path at a return or an indirect jump.
func (w *exitWalk) leave(p *path, v value, in *cpu.Insn) {
	st := &p.st
	if v.kind == konst {
		if to, ok := w.place(v); ok {
			w.jumpTo(p, to)
		}
		return
	}
	if in.Flags&cpu.FlagException != 0 {
		return
	}
	if in.Op == cpu.OpJump && w.arch.LR != cpu.NoReg {
		if lr := st.regs[w.arch.LR]; lr.kind == contents && w.released(st) {
			w.record(p, lr, true) // jr t9 with RA reloaded: a tail call through a pointer
			return
		}
	}
	// What is left of jumps are those to a value from the frame: MIPS16 returns
	// by lw a3,N(sp); jr a3.
	w.record(p, v, false)
}

// record derives the rule of an exit, if it makes sense as one.
func (w *exitWalk) record(p *path, ra value, tail bool) {
	st := &p.st
	if ra.isStart(w.arch.PC) && w.arch.LR == cpu.NoReg {
		ra = value{kind: contents, base: base(w.arch.SP)}
	}
	if ra.kind == contents && !w.after && w.arch.LR != cpu.NoReg && st.holds(w.link()) {
		// What is reloaded was stored on the way, through another register that
		// holds the same address (sp and s8).
		ra = startOf(w.arch.LR)
	}
	e := exit{calls: p.calls, tail: tail}
	e.rule.Reset()
	cfa := st.regs[w.arch.SP].plus(w.arch.EntryCFA)
	if cfa.kind == addr && cfa.base == base(w.arch.SP) && (cfa.off < 0 || ra.kind == contents && ra.base == cfa.base && (ra.off < 0 || ra.off >= cfa.off)) {
		return
	}
	var ok bool
	if e.rule.CFA, ok = asRule(cfa); !ok || e.rule.CFA.Kind == unwind.Constant {
		return
	}
	if e.rule.RA, ok = asRule(ra); !ok || ra.kind == addr && !ra.isStart(w.arch.LR) {
		return
	}
	if ra.kind == addr && (w.after || w.arch.LR == cpu.NoReg) {
		return // the call overwrote RA
	}
	if ra.kind == contents && ra.base != base(w.arch.SP) && ra.base != cfa.base {
		return // a jump through memory that is not the frame's
	}
	toCFA(&e.rule.RA, &e.rule.CFA)
	w.preserved(st, &e.rule)
	w.found = append(w.found, e)
}

func (w *exitWalk) preserved(st *state, rule *unwind.Rule) {
	for s := w.arch.Preserved; s != 0; s = s.Without(s.First()) {
		r := s.First()
		v := st.regs[r]
		if v.isStart(r) {
			continue
		}
		rr, ok := asRule(v)
		if !ok {
			rr.Kind = unwind.Undefined
		}
		rr.Reg = r
		toCFA(&rr, &rule.CFA)
		rule.Add(rr)
	}
}

// asRule turns a value in terms of the registers at the start into a rule over
// them.
func asRule(v value) (unwind.RegRule, bool) {
	rr := unwind.RegRule{Reg: cpu.NoReg, Base: cpu.Reg(v.base), Off: v.off, Add: int64(v.add)}
	switch v.kind {
	case konst:
		rr.Kind, rr.Base = unwind.Constant, cpu.NoReg
	case addr:
		rr.Kind = unwind.RegPlus
	case contents:
		rr.Kind = unwind.AtReg
	}
	return rr, rr.Kind != unwind.Unspecified && (v.kind == konst || v.base < firstSymbol)
}

// toCFA restates a slot relative to the CFA's own base register.
func toCFA(rr, cfa *unwind.RegRule) {
	if rr.Kind == unwind.AtReg && cfa.Kind == unwind.RegPlus && rr.Base == cfa.Base && rr.Add == 0 {
		rr.Kind, rr.Off, rr.Base = unwind.AtCFA, rr.Off-cfa.Off, cpu.NoReg
	}
}
