package callee

import (
	"math/bits"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stepping"
)

// search looks for the first way back to the caller: it follows control flow without
// states, and leaves what stands behind calls for last. Its memory is used again.
type search struct {
	effects *Effects
	entry   disasm.Addr
	depth   int  // of calls that may be asked about
	budget  int  // of instructions
	lost    bool // a path ended at a jump to nobody knows where
	framed  bool // and one of these with something on the stack
	todo    []path
	calls   []call
	asked   int      // of calls
	seen    []uint64 // where blocks begin, some dozens at most
	cursor  disasm.Cursor
	watch   stepping.Watch // what is idle leaves a path as it is
	stack   cpu.RegSet     // SP and PC
}

func newSearch(f *Effects) *search {
	arch := f.code.Arch
	return &search{effects: f, cursor: disasm.NewCursor(f.code), stack: cpu.SetOf(arch.SP, arch.PC),
		watch: stepping.Watch{Pointers: cpu.SetOf(arch.SP), Tracked: ^cpu.RegSet(0), Stack: arch.SP}}
}

// maxSteps bounds the instructions of one search. A function for which they do not suffice is
// taken to return.
const maxSteps = 600

// maxAsked bounds the calls that one search asks about. A function all of whose ways to a
// return cross more calls is taken to return.
const maxAsked = 48

// path is a place to go on from.
type path struct {
	at disasm.Addr
	// foreign: SP is not on the caller's stack there (longjmp, setcontext), so that a
	// return does not go back to the caller.
	foreign bool
	// pushed is how many bytes lie on the stack that the path has put there, as far as constants tell, where returns may
	// pop arguments.
	pushed int64
	// copied are registers that hold addresses of the caller's stack.
	copied cpu.RegSet
}

// call is one that the search came by.
type call struct {
	to     disasm.Addr
	direct bool // to is where it goes
	behind path
}

// from searches in the function at a place; alone: without asking about another one.
func (s *search) from(to disasm.Addr, depth int) (e Effect, alone bool) {
	s.entry, s.depth, s.budget, s.lost, s.framed, s.asked = to, depth, maxSteps, false, false, 0
	s.todo, s.calls, s.seen = append(s.todo[:0], path{at: to}), s.calls[:0], s.seen[:0]
	e = s.run()
	return e, s.asked == 0
}

func (s *search) run() Effect {
	for {
		for len(s.todo) > 0 {
			p := s.todo[len(s.todo)-1]
			s.todo = s.todo[:len(s.todo)-1]
			if e, ok := s.follow(p); ok {
				return e
			}
		}
		switch {
		case s.asked == len(s.calls):
			return s.unfound()
		case s.asked == maxAsked:
			return s.firstReturn()
		}
		c := s.calls[s.asked]
		s.asked++
		if c.direct && disasm.Retpoline(s.effects.code, c.to) {
			return perhaps()
		}
		e := perhaps()
		if c.direct {
			e = s.effects.atDepth(c.to, s.depth-1)
		}
		if e.Returns {
			c.behind.pushed = max(c.behind.pushed-e.Pops, 0)
			s.todo = append(s.todo, c.behind)
		}
	}
}

// maxLine bounds the bytes of a long function that are looked through for a return.
const maxLine = 1 << 14

// unfound is the effect of a function that no path was found to return from. A jump with nothing
// on the stack may be a tail call, and what stands behind another function.
func (s *search) unfound() Effect {
	if s.framed {
		return s.firstReturn()
	}
	return Effect{Returns: s.lost, Guess: s.lost, PC: cpu.NoReg}
}

// firstReturn is the effect of a function that the search did not finish. The nearest return
// instruction above the entry tells how many bytes the function pops: a function too long for the
// search has a return of its own, and so has a function that jumps away with a frame.
func (s *search) firstReturn() Effect {
	if !s.effects.pops {
		return perhaps()
	}
	at := s.entry
	var insns [8]cpu.Insn
	for at.PC-s.entry.PC < maxLine {
		n := s.effects.code.Decode(at, insns[:])
		if n == 0 {
			break
		}
		for i := range insns[:n] {
			in := &insns[i]
			if in.Op == cpu.OpReturn && in.Flags&cpu.FlagException == 0 {
				return Returning(in)
			}
			at.PC += uint64(in.Len)
		}
	}
	return perhaps()
}

// follow walks a path up to its end or to a block that was walked before. ok: the path settled
// the effect of the function.
func (s *search) follow(p path) (e Effect, ok bool) {
	if !s.visit(p.at.PC) {
		return never(), false
	}
	for s.cursor.Seek(p.at); ; {
		s.watch.Held = s.stack | p.copied
		starts, n, in := s.cursor.Skip(p.at.PC, stepping.SkipSpan, &s.watch)
		p.at.PC += uint64(n)
		if s.budget -= bits.OnesCount64(starts); s.budget < 0 {
			return s.firstReturn(), true
		}
		switch {
		case in == nil && n == 0:
			return perhaps(), true
		case in == nil:
			continue
		}
		switch e, o := s.walk(&p, s.cursor.Step(in, p.at.PC)); o {
		case ends:
			return never(), false
		case settles:
			return e, true
		}
	}
}

// visit tells whether a block is new.
func (s *search) visit(pc uint64) bool {
	if slices.Contains(s.seen, pc) {
		return false
	}
	s.seen = append(s.seen, pc)
	return true
}

// walk moves a path through a step.
func (s *search) walk(p *path, step stepping.Step) (Effect, outcome) {
	in := step.In
	if s.budget--; s.budget < 0 {
		return s.firstReturn(), settles
	}
	p.foreign, p.copied = s.leavesStack(in, p), s.copiedBehind(in, p)
	if s.effects.pops {
		p.pushed = s.pushedBehind(in, p.pushed)
	}
	next := *p
	next.at.PC += uint64(in.Len)
	behind := next
	behind.at.PC = step.Next
	e, o := s.step(in, behind)
	switch {
	case o == forks && !s.visit(behind.at.PC):
		return never(), ends
	case o == forks:
		next = behind
	case behind != next:
		s.cursor.Seek(next.at)
	}
	*p = next
	return e, o
}
