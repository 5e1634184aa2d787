package dataflow

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// ReturnPath is a way from a place to the caller: SP and the return address where the way
// leaves, in terms of the registers at the place.
type ReturnPath struct {
	// RA has no kind where the return pops it from a stack whose address was in the frame:
	// below the CFA. So leave ciphers by hand for i386 that align their frame by more than
	// SP is: mov 0x14(%esp),%esp; popf; pop %edi; …; ret (Camellia_cbc_encrypt).
	CFA, RA absint.Value
	// Sum is the CFA where more registers than one tell: then the return pops RA from below the CFA.
	Sum absint.Sum
	// Changed are the preserved registers that hold another register's or slot's value
	// when the way leaves; see Exception.
	Changed []RegValue
	// Calls is how many calls the way falls through: each may never return, and then
	// the way does not exist.
	Calls int
	// Tail: it leaves by a jump to another function.
	Tail bool
	// Exception: it leaves by an exception return, to the instruction at RA, with all
	// registers as they were there. Changed are all of them then but SP, which is CFA unless
	// BankedSP: that SP is another.
	Exception, BankedSP bool
}

// RegValue is what a register holds.
type RegValue struct {
	Reg cpu.Reg
	Val absint.Value
}

const (
	maxPathSteps = 3000 // instructions executed in one search for returns
	maxPaths     = 64   // paths followed at a time
	// MaxReturns is how many ways out are gathered for a place.
	MaxReturns = 3
)

// pathSearch follows the code from a place to returns.
type pathSearch struct {
	an        *Analysis
	m         absint.Interp
	afterCall bool
	entryCode bool // a jump leads to more entry code of exceptions, and is no tail call
	seen      map[uint64]bool
	paths     []*path
	found     []ReturnPath
	outwards  uint64 // see waysOut
	steps     int
	cursor    disasm.Cursor

	path *path   // being followed
	free []*path // ended: their memory is used again
}

// path is a way that goes on at a place.
type path struct {
	at    disasm.Addr
	calls int
	order int
	st    absint.State
}

// findReturns finds the ways from a place to returns. Linux's entry code jumps from one symbol
// to the next with nothing popped, up to the return from the exception:
//
//	asm_exc_page_fault   …; call exc_page_fault; jmp error_return         x86
//	error_return         testb $3,CS(%rsp); je restore_regs_and_return_to_kernel; …; iret
//
//	ret_fast_syscall     …; bne fast_work_pending; …; movs pc,lr          ARM, Linux 5.10
//	fast_work_pending    …; bl do_work_pending; …
//
// A function that has a frame pops something before it ends in a jump to another one. On ARM, where the link register may hold the
// return address still, some way must leave by an exception's return: many functions are a jump.
func (an *Analysis) findReturns(at disasm.Addr, afterCall bool) waysOut {
	found := an.searchReturns(at, afterCall, false)
	exceptions := 0
	for i := range found.returns {
		switch p := &found.returns[i]; {
		case p.Exception:
			exceptions++
		case !p.popsNothing(&an.conv):
			return found
		}
	}
	if exceptions == len(found.returns) || exceptions == 0 && !an.conv.pushes() {
		return found
	}
	through := an.searchReturns(at, afterCall, true)
	if len(through.returns) == 0 || slices.ContainsFunc(through.returns, func(p ReturnPath) bool { return !p.Exception }) {
		return found
	}
	return through
}

// popsNothing tells whether a way is a jump to another function that leaves SP where it was.
func (p *ReturnPath) popsNothing(conv *convention) bool { return p.Tail && p.CFA == conv.cfa }

func (an *Analysis) searchReturns(at disasm.Addr, afterCall, entryCode bool) waysOut {
	s := &pathSearch{an: an, m: absint.New(an.Code), afterCall: afterCall, entryCode: entryCode, seen: map[uint64]bool{}, cursor: disasm.NewCursor(an.Code)}
	if an.conv.pushes() {
		s.m.Sums = map[absint.Base]absint.Sum{}
	}
	p := &path{at: at}
	p.st.Start(an.Arch)
	if afterCall {
		p.st.Forget(an.CallerSaved())
		p.st.Set(an.Arch.SP, absint.StartOf(an.Arch.SP).Plus(an.poppedBefore(at)), an.Arch)
	}
	s.paths = append(s.paths, p)
	for len(s.paths) > 0 && s.steps < maxPathSteps && len(s.found) < MaxReturns {
		p := s.take()
		s.follow(p)
		s.free = append(s.free, p)
	}
	return waysOut{s.found, s.outwards}
}

// poppedBefore is what the callee popped that has returned to a place. The frame's SP is that of
// before, which follows from the callee's frame.
func (an *Analysis) poppedBefore(at disasm.Addr) int64 {
	if !an.conv.pushes() {
		return 0
	}
	site, ok := an.Arch.Decoder.CallBefore(an.Img.Segments.Before(at.PC, 16), at.PC, at.Mode)
	if !ok || !site.Direct {
		return 0
	}
	return an.Callees.Behind(disasm.Addr{PC: site.Target, Mode: site.TargetMode}, at.PC).Pops
}

// take removes the path that crosses the fewest calls, the oldest of those.
func (s *pathSearch) take() *path {
	best := 0
	for i, p := range s.paths {
		if b := s.paths[best]; p.calls < b.calls || p.calls == b.calls && p.order < b.order {
			best = i
		}
	}
	p := s.paths[best]
	s.paths = append(s.paths[:best], s.paths[best+1:]...)
	return p
}

// fork goes on at another place later.
func (s *pathSearch) fork(st *absint.State, to disasm.Addr, calls int) {
	if len(s.paths) >= maxPaths || s.seen[to.PC] || !s.an.Has(to.PC) {
		return
	}
	p := new(path)
	if n := len(s.free); n > 0 {
		p, s.free = s.free[n-1], s.free[:n-1]
	}
	p.at, p.calls, p.order = to, calls, s.steps
	p.st.CopyFrom(st)
	s.paths = append(s.paths, p)
}

// follow executes a path to its next transfer.
func (s *pathSearch) follow(p *path) {
	s.path = p
	s.cursor.Seek(p.at)
	for pc := p.at.PC; ; {
		in := s.cursor.Next(pc)
		if in == nil || s.seen[pc] {
			return
		}
		if s.steps++; s.steps > maxPathSteps {
			return
		}
		s.seen[pc] = true
		if !disasm.Transfers(in, s.an.Arch) {
			s.m.Exec(&p.st, in, pc)
			pc += uint64(in.Len)
			continue
		}
		t := transfer{Step: s.cursor.Step(in, pc), start: p.at.PC, pc: pc, mode: p.at.Mode}
		t.follow(&s.m, &p.st, &p.st, s)
		return
	}
}

// goesOn implements successors.
func (s *pathSearch) goesOn(st *absint.State, t *transfer) { s.fork(st, t.behind(), s.path.calls) }

// calls implements successors.
func (s *pathSearch) calls(st *absint.State, t *transfer) {
	target, known := s.m.Target(st, t.In)
	if known && t.millicode(s.an.Arch) {
		st.Set(t.In.Dst, absint.Const(int64(t.Next)), s.an.Arch)
		s.fork(st, target, s.path.calls)
		return
	}
	if s.an.Callees.CallNeverReturns(&s.m, st, t.In, target, known) || s.an.Entries.EndsBehind(t.pc, t.behind()) {
		return
	}
	s.an.applyCall(&s.m, st, t, target, known)
	s.fork(st, t.behind(), s.path.calls+1)
}

// jumps implements successors.
func (s *pathSearch) jumps(st *absint.State, t *transfer) {
	if to, ok := s.m.Target(st, t.In); ok {
		s.jumpTo(st, to)
	} else if t.In.Flags&(cpu.FlagTable|cpu.FlagMemory) == 0 {
		s.returns(st, st.RegisterTarget(t.In, s.an.Arch), t)
	}
}

// jumpTo follows a jump. To the start of another function, with the return address back
// in its register, it is a tail call: a way out like a return.
func (s *pathSearch) jumpTo(st *absint.State, to disasm.Addr) {
	if !s.entryCode && s.an.Entries.IsEntry(to) && s.released(st) {
		s.record(st, s.an.conv.handsOver(st), true)
		return
	}
	s.fork(st, to, s.path.calls)
}

// returns implements successors: it ends a path at a return or an indirect jump.
func (s *pathSearch) returns(st *absint.State, v absint.Value, t *transfer) {
	if v.Kind == absint.Constant {
		if to, ok := s.m.CodeAt(v); ok {
			s.jumpTo(st, to)
		} else {
			s.exceptionReturn(st, st.Regs[s.an.Arch.PC], t)
		}
		return
	}
	if t.In.Flags&cpu.FlagException != 0 {
		s.exceptionReturn(st, v, t)
		return
	}
	if s.leadsOutwards(st, v, t) {
		s.recordSum(st, v)
		s.outwards = t.pc
		return
	}
	if t.In.Op == cpu.OpJump && s.an.conv.reloaded(st) && s.released(st) {
		s.record(st, s.an.conv.handsOver(st), true) // jr t9 with RA reloaded: a tail call through a pointer
		return
	}
	if t.In.Op == cpu.OpJump && v == (absint.Value{}) {
		return
	}
	// What is left of jumps are those to a value from the frame: MIPS16 returns
	// by lw a3,N(sp); jr a3.
	s.record(st, v, false)
}
