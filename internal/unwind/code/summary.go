package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
)

// summary is what a caller wants to know of a function.
type summary struct {
	returns bool
	pops    int64 // bytes that a return removes beyond the return address (x86 ret n)
}

// returning is the summary of a function that leaves by this return.
func returning(in *cpu.Insn) summary {
	s := summary{returns: true}
	if in.Src == cpu.NoReg {
		s.pops = in.Imm
	}
	return s
}

// callee is what a direct call does to its caller.
type callee struct {
	summary
	pc cpu.Reg // where all it does is to load its return address: into this one
}

// clobbers are the registers that get other values.
func (c *callee) clobbers(callerSaved cpu.RegSet) cpu.RegSet {
	if c.pc != cpu.NoReg {
		return cpu.SetOf(c.pc)
	}
	return callerSaved
}

// callee looks at the function that a direct call goes to.
func (an *analysis) callee(to jump) callee {
	k := key(to.to, to.mode)
	c, ok := an.callees[k]
	if ok {
		return c
	}
	if an.soon != nil && an.drawing < nested && an.soon(to.to) && an.isEntry(to.to, to.mode) {
		an.sketch(to.to, to.mode) // tells whether it returns
	}
	c = callee{an.summarize(to, summaryDepth), cpu.NoReg}
	if an.arch.LR != cpu.NoReg {
		c.pops = 0
	} else if r, ok := readsPC(an.img, to); ok {
		c.pc = r
	}
	an.callees[k] = c
	return c
}

// summaries are those of one function, by depth.
type summaries struct {
	of    [summaryDepth]summary
	known [summaryDepth]bool
}

const (
	summarySteps = 600 // instructions looked at for one summary
	summaryDepth = 3   // calls within calls; deeper ones are taken to return
)

// neverReturns tells whether no path of a function leads back to its caller:
// abort, exit, longjmp and what ends in them. Doubt means that it returns.
func (an *analysis) neverReturns(to jump) bool { return !an.summarize(to, summaryDepth).returns }

// summarize looks for the first way back to the caller, following direct jumps
// and stepping over calls that return.
// What is remembered is remembered by depth, so that an answer does not depend on
// what was asked before it. Deeper searches believe fewer calls to return: one that
// returns does so at any lesser depth, and one that does not, at any greater. One for
// which no callee was asked holds at any depth, and so does a sketch's return.
func (an *analysis) summarize(to jump, depth int) summary {
	if depth == 0 {
		return summary{returns: true}
	}
	k := key(to.to, to.mode)
	memo := an.summaries[k]
	if memo == nil {
		memo = new(summaries)
		an.summaries[k] = memo
	}
	if memo.known[depth-1] {
		return memo.of[depth-1]
	}
	s, alone := summary{}, true
	if drawn := an.sketches[k]; !an.noReturnByName(to) {
		if drawn != nil && drawn.summary.returns {
			s = drawn.summary
		} else {
			w := &an.searches[depth-1]
			w.begin(an, to, depth)
			s = w.run()
			alone = w.tried == 0
		}
	}
	for d := range memo.known {
		if alone || d == depth-1 || s.returns == (d < depth) {
			memo.of[d], memo.known[d] = s, true
		}
	}
	return s
}

// search is a walk over control flow without states. Its memory is used again: there
// is one for each depth.
type search struct {
	an     *analysis
	depth  int
	budget int
	todo   []way
	calls  []pending   // places behind calls, tried when nothing else is left
	tried  int         // of calls
	seen   []uint64    // where blocks begin, some dozens at most
	insns  [8]cpu.Insn // paths are short
}

func (w *search) begin(an *analysis, to jump, depth int) {
	w.an, w.depth, w.budget, w.tried = an, depth, summarySteps, 0
	w.todo, w.calls, w.seen = append(w.todo[:0], way{jump: to}), w.calls[:0], w.seen[:0]
}

// way is a place to go on from. foreign: SP is not the caller's stack there
// (longjmp, setcontext), so that a return does not go back to the caller.
type way struct {
	jump
	foreign bool
}

type pending struct {
	callee jump
	next   way
	known  bool
}

func (w *search) run() summary {
	for {
		for len(w.todo) > 0 {
			j := w.todo[len(w.todo)-1]
			w.todo = w.todo[:len(w.todo)-1]
			if s, ok := w.follow(j); ok {
				return s
			}
		}
		if w.tried == len(w.calls) {
			return summary{}
		}
		c := w.calls[w.tried]
		w.tried++
		if c.known && retpoline(w.an.img, c.callee) {
			return summary{returns: true}
		}
		if !c.known || w.an.summarize(c.callee, w.depth-1).returns {
			w.todo = append(w.todo, c.next)
		}
	}
}

// follow walks from j to where control does not go on, or into what was seen; ok when
// that settles the question.
func (w *search) follow(j way) (s summary, ok bool) {
	for pc, fresh := j.to, w.visit(j.to); fresh; {
		n := w.an.arch.Decoder.Decode(w.an.img.Code(pc), pc, j.mode, w.insns[:])
		if n == 0 {
			return summary{returns: true}, true
		}
		for i := 0; i < n && fresh; i++ {
			in := &w.insns[i]
			slotted := in.Flags&cpu.FlagDelaySlot != 0
			if slotted && i+1 == n && i > 0 {
				break // decode again from here, with the slot
			}
			if w.budget--; w.budget < 0 {
				return summary{returns: true}, true
			}
			next := pc + uint64(in.Len)
			behind := next
			if slotted && i+1 < n {
				behind += uint64(w.insns[i+1].Len)
			}
			j.foreign = w.switched(in, j.foreign)
			s, how := w.step(in, way{jump{behind, j.mode}, j.foreign})
			switch how {
			case stops, settles:
				return s, how == settles
			case forks:
				if behind != next {
					i++
				}
				next, fresh = behind, w.visit(behind)
			}
			pc = next
		}
	}
	return summary{}, false
}

// visit tells whether a block is new.
func (w *search) visit(pc uint64) bool {
	if slices.Contains(w.seen, pc) {
		return false
	}
	w.seen = append(w.seen, pc)
	return true
}

// switched tells whether SP is a foreign stack behind an instruction: out of
// memory or out of a register that nobody preserves. alloca moves such a register
// to SP as well, but its function leaves with SP computed from the frame pointer. A
// function of x86 that realigned its stack leaves by lea -4(%ecx),%esp: ecx is the CFA,
// and the return address lies in front of it.
func (w *search) switched(in *cpu.Insn, foreign bool) bool {
	arch := w.an.arch
	if in.Dst != arch.SP {
		return foreign
	}
	switch in.Op {
	case cpu.OpLoad:
		return in.Base != arch.SP
	case cpu.OpMove, cpu.OpAddImm:
		if in.Src == arch.SP {
			return foreign
		}
		home := arch.LR == cpu.NoReg && in.Imm == -int64(arch.AddrSize) && in.Op == cpu.OpAddImm
		return !home && !arch.Preserved.Has(in.Src) && in.Src != arch.FP
	}
	return foreign
}

// course is what an instruction does to the path that it lies on.
type course uint8

const (
	goesOn  course = iota
	forks          // it goes on, and elsewhere too
	stops          // it does not
	settles        // nor need others be followed
)

// ends is the end of a path, unless it is conditional.
func ends(in *cpu.Insn) course {
	if in.Flags&cpu.FlagConditional != 0 {
		return goesOn
	}
	return stops
}

// step looks at one instruction, which next is behind. What settles the search comes
// with its outcome.
func (w *search) step(in *cpu.Insn, next way) (summary, course) {
	arch := w.an.arch
	switch in.Op {
	case cpu.OpReturn:
		if in.Flags&cpu.FlagException != 0 || next.foreign {
			return summary{}, ends(in)
		}
		return returning(in), settles
	case cpu.OpTrap:
		return summary{}, ends(in)
	case cpu.OpLoad, cpu.OpLoadMulti:
		if in.Op == cpu.OpLoad && in.Dst == arch.PC || in.Op == cpu.OpLoadMulti && in.List.Has(arch.PC) {
			return summary{returns: true}, settles
		}
	case cpu.OpJump:
		return summary{returns: true}, w.jump(in, next)
	case cpu.OpCall:
		return summary{}, w.call(in, next)
	}
	return summary{}, goesOn
}

// jump follows a jump. Where one goes that is not direct nobody knows: it returns.
func (w *search) jump(in *cpu.Insn, next way) course {
	if in.Src != cpu.NoReg && in.Target == 0 || in.Flags&(cpu.FlagMemory|cpu.FlagTable) != 0 {
		if next.foreign {
			return stops
		}
		return settles
	}
	w.todo = append(w.todo, way{jump{in.Target, in.TargetMode}, next.foreign})
	if in.Flags&cpu.FlagConditional != 0 {
		return forks
	}
	return stops
}

// call leaves what is behind a call for later.
func (w *search) call(in *cpu.Insn, next way) course {
	if in.Flags&cpu.FlagGetPC != 0 {
		return goesOn
	}
	if in.Flags&cpu.FlagConditional != 0 { // blne __stack_chk_fail
		return forks
	}
	if !w.an.readsNoReturn(in) {
		known := in.Src == cpu.NoReg && in.Flags&cpu.FlagMemory == 0
		w.calls = append(w.calls, pending{jump{in.Target, in.TargetMode}, next, known})
	}
	return stops
}
