package stackwalk

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/unwind"
)

// trampolines are the sources whose frames are entered otherwise than by a call: a signal
// handler returns to the C library's __restore_rt, a Cortex-M handler to an EXC_RETURN
// value. No call stands before such a return address.
type trampolines struct {
	sources []trampolineSource
	scratch *trampolineScratch
}

// trampolineScratch is space for the step over a trampoline: what sources are passed
// would be allocated otherwise.
type trampolineScratch struct {
	state State
	regs  cpu.Registers
	next  Caller
}

// at tells whether the return address raw is a trampoline's, in a frame s.
func (t *trampolines) at(s *State, raw uint64, mode cpu.Mode) bool {
	for _, l := range t.sources {
		if l.At(s, raw, mode) {
			return true
		}
	}
	return false
}

// unseen tells whether c stands at a trampoline whose code is not at hand.
func (t *trampolines) unseen(s *State, c *candidate) bool {
	m, _ := s.Snapshot.ModuleAt(c.pc)
	sp, ok := c.Regs.Lookup(s.Snapshot.Arch.SP)
	if !ok || c.Exact || m != nil && !m.Hollow() {
		return false
	}
	for _, l := range t.sources {
		if u, ok := l.Trampoline.(Unseen); ok && u.Unseen(s, c.pc, sp) {
			return true
		}
	}
	return false
}

// leadOn tells whether the trampoline that c is at can be stepped over with c's stack
// pointer: a wrong CFA finds no signal frame. Where the stack was not captured so far,
// nothing speaks against c.
func (t *trampolines) leadOn(s *State, c *candidate) bool {
	b := t.frameAt(s, c)
	f := &b.state
	f.PC, f.Site, f.Exact, f.Module = c.pc, c.pc, false, c.module
	if c.module == nil {
		f.PC = c.raw
	}
	for _, l := range t.sources {
		if !l.At(f, c.raw, c.mode) && !t.unseen(s, c) {
			continue
		}
		if v := l.Step(f, &b.next); v == unwind.Found || v == unwind.NotCaptured {
			return true
		}
	}
	return false
}

// pass steps over the trampoline that c is at, where that is no frame of its own: an
// EXC_RETURN value stands for the exception frame. The result has no evidence yet but
// its PC.
func (t *trampolines) pass(s *State, c *candidate) (next candidate, ok bool) {
	b := t.frameAt(s, c)
	f := &b.state
	f.PC, f.Exact = c.raw, true
	for _, l := range t.sources {
		if !l.At(f, c.raw, c.mode) {
			continue
		}
		b.next = Caller{}
		if l.Step(f, &b.next) != unwind.Found || !b.next.NotAFrame {
			return next, false
		}
		next = newCandidate(l.Method(), nil)
		next.Caller = b.next
		next.raw, _ = next.Regs.Lookup(s.Snapshot.Arch.PC)
		return next, true
	}
	return next, false
}

// endAt tells whether a stack ends at sp, which is where a frame's return address would lie. Linux for i386 enters
// ret_from_fork_asm with SP where the registers of user space lie (since Linux 6.5), and that pushes more.
func (t *trampolines) endAt(s *State, sp uint64) bool {
	const registers = 256 // bytes of them, at most
	if stack := s.statedStack(); !stack.Contains(sp) || stack.Hi-sp > registers {
		return false
	}
	c := candidate{Caller: Caller{Regs: *s.Regs}}
	c.Regs.Set(s.Snapshot.Arch.SP, sp)
	b := t.frameAt(s, &c)
	for _, l := range t.sources {
		if l.Step(&b.state, &b.next) == unwind.EndOfStack {
			return true
		}
	}
	return false
}

// frameAt is the scratch space with s as the state, but c's registers and mode.
func (t *trampolines) frameAt(s *State, c *candidate) *trampolineScratch {
	if t.scratch == nil {
		t.scratch = new(trampolineScratch)
	}
	b := t.scratch
	b.state, b.regs = *s, c.Regs
	b.state.Regs, b.state.Mode = &b.regs, c.mode
	return b
}

// trampolineSource recognises trampolines, and steps out of them.
type trampolineSource struct {
	Trampoline
	FrameSource
}

func trampolinesOf(sources []Source) (out []trampolineSource) {
	for _, s := range sources {
		at, isTrampoline := s.(Trampoline)
		step, isFrame := s.(FrameSource)
		if isTrampoline && isFrame {
			out = append(out, trampolineSource{at, step})
		}
	}
	return out
}
