package unwind

import (
	"math"
	"slices"

	"github.com/backsight/backsight/cpu"
)

// warm walks on from the last frame of dst as far as the cache knows the way,
// reading nothing but the cache, the stack and the registers that rules name. It
// tells whether that was the end of the stack. Where it stops, registers and state
// are those of the last frame, and sources go on.
//
// The checks that code alone decides come with the cached caller. What the stack
// decides is checked here: that the return address is that caller, and that SP
// rises, is aligned and stays in the stack.
//
// Registers other than SP are left where they were saved until a rule needs one:
// most frames are found from SP alone. w.trail has the rules on the way.
func (w *Walker) warm(dst []Frame, first int) ([]Frame, bool) {
	s, regs, arch := &w.state, &w.regs, w.snap.Arch
	sp, ok := regs.Lookup(arch.SP)
	if !ok || s.Module == nil {
		return dst, false
	}
	at := ruleKey{s.PC, kindOf(s.Mode, s.Exact)}
	if w.cache.rule(at) == nil {
		if _, r := w.recall(at, 0, s.Module); r == nil {
			return dst, false
		}
	}
	mask, align, isa, codeMask := arch.AddrMask(), max(arch.StackAlign, 1)-1, arch.ISABit, w.snap.CodeMask
	sp &= mask
	v := &w.view
	v.open(w.snap, sp)
	size, modules := uint64(v.size), w.snap.Modules
	level := s.Exact || arch.LR != cpu.NoReg // a frame may have CFA = SP, as in checkStack
	if w.trail = w.trail[:0]; w.trail == nil {
		w.trail = make([]*Packed, 0, 64)
	}
	started, trust := len(dst), dst[len(dst)-1].Trust
	for len(dst)-first < w.opt.MaxFrames {
		var r *Packed
		e := w.cache.rule(at)
		if e != nil {
			r = &e.rule
		} else if e, r = w.recall(at, 0, dst[len(dst)-1].Module); e == nil {
			break
		}
		if r.ends() {
			w.cache.stats.Hits += uint64(len(w.trail)) + 1
			return dst, true
		}
		cfa := sp
		if r.base != arch.SP {
			if cfa, ok = w.saved(r.base, dst[started-1:]); !ok {
				break
			}
		}
		cfa += uint64(int64(r.off))
		if r.form&formLoad != 0 {
			if cfa, ok = v.near(cfa & mask); !ok {
				break
			}
		}
		cfa &= mask
		if cfa < sp || cfa == sp && !level || !s.Stack.Contains(cfa) {
			break
		}
		var ra uint64
		if r.saved&1 != 0 {
			if ra, ok = v.near((cfa + uint64(r.anchor()-int64(r.slots&15))*size) & mask); !ok {
				break
			}
		} else if len(w.trail) > 0 {
			break // only the first frame's link register is known
		} else if ra, ok = regs.Lookup(arch.LR); !ok {
			break
		}
		ra &= mask
		if r.form&formSigned != 0 && codeMask != 0 {
			ra &= codeMask
		}
		c := &e.caller
		if c.ra != ra || c.back == 0 {
			if c = w.cache.other(at, ra); c == nil {
				if ra == 0 {
					break // no caller; recall would answer with any
				}
				if e, _ = w.recall(at, ra, dst[len(dst)-1].Module); e == nil {
					break
				}
				c = &e.caller
			}
		}
		if cfa&align == 0 != (c.checks&SPAligned != 0) {
			break
		}
		f := &dst[len(dst)-1]
		f.CFA, f.HasCFA = cfa, true
		trust = min(trust, c.trust)
		// The cached address rather than the equal one from the stack: so the processor
		// looks the next rule up before memory has answered.
		pc := c.ra
		if isa {
			pc &^= 1
		}
		dst = append(dst, Frame{PC: pc, CallSite: pc - uint64(c.back), Module: modules[c.module],
			Checks: c.checks, Mode: c.mode, Method: e.method, Trust: trust})
		w.trail = append(w.trail, r)
		if w.unproven == 0 && !c.checks.placed() {
			w.unproven = len(dst) - 1
		}
		at = ruleKey{pc, uint8(c.mode)&1 | kindUsed}
		sp = cfa
		level = arch.LR != cpu.NoReg
	}
	w.cache.stats.Hits += uint64(len(w.trail))
	if len(w.trail) > 0 {
		w.arrive(dst[started-1:])
	}
	return dst, false
}

// saved is the value of a register in the last of frames, which the rules of
// w.trail lead through.
func (w *Walker) saved(reg cpu.Reg, frames []Frame) (uint64, bool) {
	if !w.keeps.Has(reg) && len(w.trail) > 0 {
		return 0, false
	}
	return w.before(len(w.trail), reg, frames)
}

// before is a register's value ahead of the i-th rule: where the nearest one saved
// it, else what it was.
func (w *Walker) before(i int, reg cpu.Reg, frames []Frame) (uint64, bool) {
	index := w.index(reg)
	for i--; i >= 0 && index > 0; i-- {
		r := w.trail[i]
		if r.saved>>index&1 == 0 {
			continue
		}
		off, ok := r.slot(index, w.view.size)
		at, known := w.origin(i, frames)
		if !ok || !known {
			return 0, false
		}
		return w.view.word((at + off) & w.snap.Arch.AddrMask())
	}
	return w.regs.Lookup(reg)
}

// origin is what the slots of the i-th rule's registers are relative to.
func (w *Walker) origin(i int, frames []Frame) (at uint64, ok bool) {
	r := w.trail[i]
	switch {
	case r.form&formBeside == 0:
		return frames[i].CFA, true
	case r.base == w.snap.Arch.SP && i > 0:
		at, ok = frames[i-1].CFA, true
	default:
		at, ok = w.before(i, r.base, frames)
	}
	return at + uint64(int64(r.off)), ok
}

// arrive makes the last of frames the one to be unwound: it restores the registers
// that the rules of w.trail saved.
func (w *Walker) arrive(frames []Frame) {
	s, regs, arch := &w.state, &w.regs, w.snap.Arch
	for set := w.keeps & ^cpu.SetOf(arch.SP, arch.PC); set != 0; set = set.Without(set.First()) {
		if v, ok := w.saved(set.First(), frames); ok {
			regs.Set(set.First(), v)
		} else {
			regs.Forget(set.First())
		}
	}
	f, callee := &frames[len(frames)-1], &frames[len(frames)-2]
	regs.Known &= w.keeps
	regs.Set(arch.SP, callee.CFA)
	regs.Set(arch.PC, f.PC)
	s.PC, s.Site, s.Mode, s.Exact, s.Module = f.PC, f.CallSite, f.Mode, false, f.Module
}

// remember keeps how the caller of the frame in w.state was found, and tells others, if
// nothing but code decided it: the first answer of all, that of a rule source, was also
// the last. The stack's part are the checks that warm repeats.
func (w *Walker) remember() {
	w.cache.stats.Misses++
	r, ok := w.lesson()
	if !ok {
		return
	}
	if w.cache.worth(r.pc) {
		w.cache.keep(&r)
	}
	w.tell(&r)
}

// lesson is what there is to remember.
func (w *Walker) lesson() (r cachedRule, ok bool) {
	s, c := &w.state, &w.best
	if w.answers != 1 || !w.ruled || !w.settled() || c.end && c.trust != Certain ||
		s.Module == nil || s.Module.Image == nil || !s.Module.Image.Executable(s.Module.ToImage(s.PC-1)&s.Module.Image.Arch.AddrMask()) {
		return r, false
	}
	r = cachedRule{pc: s.PC, kind: kindOf(s.Mode, s.Exact), method: c.method, rule: endRule()}
	if c.end {
		return r, true
	}
	const stack = SPMonotonic | SPInStack
	if !c.checks.has(stack|CallBefore) || c.checks&AtTrampoline != 0 || c.flags&Inferred != 0 || c.Exact || c.module == nil || c.module.Image == nil {
		return r, false
	}
	module := slices.Index(w.snap.Modules, c.module)
	if r.rule, ok = w.first, w.packs; !ok || module > math.MaxUint16 {
		return r, false
	}
	r.caller = caller{ra: c.raw, checks: c.checks, trust: c.trust, mode: c.mode, back: uint8(c.pc - c.site), module: uint16(module)}
	pc, _ := w.snap.Arch.SplitCode(c.raw)
	return r, pc == c.pc && pc-uint64(r.caller.back) == c.site
}
