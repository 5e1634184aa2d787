package unwind

import (
	"math/bits"
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
func (w *Walker) warm(dst []Frame, first int) ([]Frame, bool) {
	s, regs, arch := &w.state, &w.regs, w.snap.Arch
	sp, ok := regs.Lookup(arch.SP)
	if !ok || s.Module == nil {
		return dst, false
	}
	mask, align := arch.AddrMask(), max(arch.StackAlign, 1)-1
	sp &= mask
	v := &w.view
	v.open(w.snap, sp)
	at := place{s.PC, kindOf(s.Mode, s.Exact)}
	level := s.Exact || arch.LR != cpu.NoReg // a frame may have CFA = SP, as in checkStack
	keeps := w.keeps
	started, ended := len(dst), false
	trust := dst[len(dst)-1].Trust
	for len(dst)-first < w.opt.MaxFrames {
		e := w.cache.rule(at)
		if e == nil {
			break
		}
		r := &e.rule
		if r.form&formEnd != 0 {
			w.cache.stats.Hits++
			ended = true
			break
		}
		if !regs.Known.Has(r.base) {
			break
		}
		cfa := regs.Val[r.base] + uint64(int64(r.off))
		if r.form&formLoad != 0 {
			if cfa, ok = v.near(cfa & mask); !ok {
				break
			}
		}
		cfa &= mask
		if cfa < sp || cfa == sp && !level || cfa&align != 0 || !s.Stack.Contains(cfa) {
			break
		}
		slots, saved := r.nibbles(), r.saved
		top := cfa + uint64(r.anchor()*int64(v.size))
		var ra uint64
		if saved&1 != 0 {
			if ra, ok = v.near((top - slots&15*uint64(v.size)) & mask); !ok {
				break
			}
			slots >>= 4
			saved &^= 1
		} else if ra, ok = regs.Lookup(arch.LR); !ok {
			break
		}
		ra &= mask
		if r.form&formSigned != 0 && w.snap.CodeMask != 0 {
			ra &= w.snap.CodeMask
		}
		c := &e.caller
		if c.ra != ra {
			if c = w.cache.other(at, ra); c == nil {
				break
			}
		}
		known := regs.Known&keeps | cpu.SetOf(arch.SP, arch.PC)
		for ; saved != 0; saved &= saved - 1 {
			reg := w.order[bits.TrailingZeros16(saved)&15]
			a := (top - slots&15*uint64(v.size)) & mask
			x, ok := v.near(a)
			if !ok {
				x, ok = v.far(a)
			}
			slots >>= 4
			if ok {
				regs.Val[reg] = x
				known |= 1 << reg
			} else {
				known &^= 1 << reg
			}
		}
		regs.Known = known
		regs.Val[arch.SP] = cfa
		f := &dst[len(dst)-1]
		f.CFA, f.HasCFA = cfa, true
		pc := ra
		if arch.ISABit {
			pc &^= 1
		}
		dst = append(dst, Frame{PC: pc, Mode: c.mode, CallSite: pc - uint64(c.back), Module: w.snap.Modules[c.module],
			Method: e.method, Checks: c.checks, Trust: trust})
		w.cache.stats.Hits++
		at = place{pc, uint8(c.mode)&1 | kindUsed}
		sp = cfa
		level = arch.LR != cpu.NoReg
	}
	if n := len(dst); n > started {
		f := &dst[n-1]
		regs.Set(arch.PC, f.PC)
		s.PC, s.Site, s.Mode, s.Exact, s.Module = f.PC, f.CallSite, f.Mode, false, f.Module
	}
	return dst, ended
}

// remember keeps how the caller of the frame in w.state was found, if nothing but
// code decided it: the first answer of all, that of a rule source, was certain. The
// stack's part are the checks that warm repeats.
func (w *Walker) remember() {
	s, c := &w.state, &w.best
	w.cache.stats.Misses++
	if w.answers != 1 || !w.ruled || c.trust != Certain || s.Module == nil || s.Module.Image == nil ||
		!s.Module.Image.Executable(s.Module.ToImage(s.PC-1)&s.Module.Image.Arch.AddrMask()) {
		return
	}
	r := cachedRule{pc: s.PC, kind: kindOf(s.Mode, s.Exact), method: c.method, rule: endRule()}
	if !c.end {
		const stack = SPMonotonic | SPAligned | SPInStack
		ok := c.checks.has(stack|CallBefore) && c.checks&AtLandmark == 0 && c.flags&Inferred == 0 && !c.Exact
		if !ok || c.module == nil || c.module.Image == nil {
			return
		}
		if r.rule, ok = Pack(w.query.Arch, &w.rule); !ok {
			return
		}
		r.caller = caller{ra: c.raw, checks: c.checks, mode: c.mode, back: uint8(c.pc - c.site), module: uint32(slices.Index(w.snap.Modules, c.module))}
		if pc, _ := w.snap.Arch.SplitCode(c.raw); pc != c.pc || pc-uint64(r.caller.back) != c.site {
			return
		}
	}
	w.cache.keep(&r)
}
