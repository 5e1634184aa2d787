package record

import (
	"context"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/input/gdbremote"
	"github.com/backsight/backsight/lab/truth"
)

// run steps until main returns, the program ends, or the budget is spent.
func (r *recorder) run(ctx context.Context) error {
	pending := 0
	for ; r.Steps < r.job.Steps && len(r.shadow.entries) > 0 && ctx.Err() == nil; r.Steps++ {
		if err := r.sample(); err != nil || r.pick.full() {
			return err
		}
		stop, err := r.client.Step(pending)
		if err != nil || stop.Exited {
			return nil // the program ended, and QEMU with it
		}
		delivered := pending != 0
		pending = 0
		if stop.Signal != gdbremote.Trap && stop.Signal != 0 {
			pending = stop.Signal
		}
		var now moment
		if err := r.look(&now); err != nil {
			return nil
		}
		if !r.advance(&now, delivered, pending != 0) {
			return nil
		}
		if r.tedious() {
			if err := r.skip(); err != nil {
				return nil // it did not come back
			}
		}
	}
	return ctx.Err()
}

// tedious: a static program's first exception sorts all frame descriptions, a million
// instructions of one function.
func (r *recorder) tedious() bool {
	s, ok := r.img.Symbols.At(r.was.pc)
	return ok && s.Addr == r.was.pc && s.Name == "_Unwind_Find_FDE"
}

// skip runs to the end of the activation on top, which has just begun.
func (r *recorder) skip() error {
	top := r.shadow.entries[len(r.shadow.entries)-1]
	var now moment
	if err := r.to(top.ret, r.was.mode, &now); err != nil {
		return err
	}
	r.shadow.land(&now, false)
	r.was = now
	return nil
}

// advance brings the shadow stack to now. false: the truth is lost.
func (r *recorder) advance(now *moment, delivered, pending bool) bool {
	switch {
	case pending && now.pc == r.was.pc:
		return true // the signal comes with the next step
	case delivered && now.pc != r.was.next:
		if !r.handler(now) {
			r.Odd++
			return false
		}
	case r.arch.ModeOnly && now.lr >= exceptionReturn && r.was.lr < exceptionReturn && now.sp < r.was.sp && now.pc != r.was.next:
		r.shadow.except(now, r.word)
	case r.inSlot(now):
		// The branch takes effect with the slot: its effect is seen from there.
		r.was.pc, r.was.sp, r.was.slot = now.pc, now.sp, true
		return true
	default:
		r.behindSyscall(now)
		if r.inSlot(now) {
			r.was.pc, r.was.slot = now.pc, true
			return true
		}
		r.shadow.step(&r.was, now, r.word)
	}
	r.was = *now
	return true
}

// behindSyscall: a step over a system call executes the instruction behind it, too,
// in QEMU's user mode; behind sigreturn that is the interrupted one. The transition
// is that instruction's.
func (r *recorder) behindSyscall(now *moment) {
	was := &r.was
	if was.insn.Op != cpu.OpSyscall {
		return
	}
	hidden := moment{pc: was.next, mode: was.mode, sp: was.sp, lr: was.lr}
	if e, ok := r.shadow.sigreturn(was); ok {
		hidden.pc, hidden.sp, hidden.mode = e.ret, e.cfa, now.mode
	}
	if now.pc != hidden.pc {
		r.decode(&hidden)
		r.was = hidden
	}
}

// handler puts a signal on top. QEMU has executed the handler's first instruction:
// what that did to SP is undone. (Tables do not tell: Clang 14's for AArch64 are
// right behind the prologue only.)
func (r *recorder) handler(now *moment) bool {
	s, ok := r.img.Symbols.At(now.pc)
	if !ok {
		return false
	}
	first := moment{pc: s.Addr, mode: now.mode, sp: now.sp, lr: now.lr}
	r.decode(&first)
	if now.pc != s.Addr && now.pc != first.next {
		return false
	}
	if now.pc != s.Addr {
		first.sp -= uint64(first.insn.Raises(r.arch.SP))
	}
	r.shadow.deliver(&r.was, &first, r.word)
	return true
}

// inSlot: QEMU's user mode steps a branch and its slot as one or as two.
func (r *recorder) inSlot(now *moment) bool {
	return !r.was.slot && r.was.insn.Flags&cpu.FlagDelaySlot != 0 && now.pc == r.was.pc+uint64(r.was.insn.Len) && now.pc != r.was.next
}

// sample captures the moment if it is worth it.
func (r *recorder) sample() error {
	es := r.shadow.entries
	if len(es) == 0 || r.was.insn.Len == 0 {
		return nil
	}
	top := &es[len(es)-1]
	if r.was.slot {
		return nil // no capture is taken in a delay slot
	}
	kind := r.kinds.of(r.was.pc, r.was.mode, top)
	own := kind
	for i := range es {
		if es[i].signal {
			kind = kindSignal
		}
	}
	if len(es) < 2 || millicode(r.name(r.was.pc)) || !r.pick.wants(kind, top.start, r.was.pc, r.Steps) {
		return nil
	}
	s := truth.NewSnapshot(r.arch)
	for set := r.regs.Known; set != 0; set = set.Without(set.First()) {
		s.Regs[r.arch.RegName(set.First())] = truth.Hex(r.regs.Val[set.First()])
	}
	r.memory(s)
	r.snaps = append(r.snaps, s)
	r.answers = append(r.answers, r.answer(kind, own))
	if r.job.Sampled != nil {
		return r.job.Sampled(r.client.Client, s)
	}
	return nil
}

// millicode tells RISC-V's __riscv_save_N by the name: they run with the caller's return address
// in t0, a place where the ABI's terms do not hold.
func millicode(function string) bool { return strings.HasPrefix(function, "__riscv_") }

const (
	// maxStack bounds the stack bytes of a capture.
	maxStack = 160 << 10
	// otherStack is how much is captured of a stack whose end nobody knows: an
	// alternate one. It is more than a signal frame (AArch64's is 4.5 KB).
	otherStack = 8 << 10
)

// memory adds the stack, from a little below SP, and the code of signal trampolines
// that no file has.
func (r *recorder) memory(s *truth.Snapshot) {
	r.stack(s, r.was.sp)
	for i := range r.shadow.entries {
		e := &r.shadow.entries[i]
		if e.signal && e.cfa-r.was.sp > maxStack {
			r.stack(s, e.cfa) // it came on another stack
		}
		if e.signal && !r.exception(e) && r.img.Segments.Code(e.start) == nil {
			r.segment(s, e.start, 64)
		}
	}
}

// stack adds what lies above sp.
func (r *recorder) stack(s *truth.Snapshot, sp uint64) {
	const below = 256
	size := r.top - sp + below
	if sp > r.top || size > maxStack {
		size = otherStack
	}
	r.segment(s, sp-below, size)
}

// exception tells a Cortex-M exception from a signal.
func (r *recorder) exception(e *entry) bool {
	return e.signal && r.arch.ModeOnly && e.start >= exceptionReturn
}

func (r *recorder) segment(s *truth.Snapshot, base, size uint64) {
	const page = 4096
	b := make([]byte, 0, size)
	for at := base; at < base+size; { // what goes over the end of memory fails as a whole
		part := b[len(b) : uint64(len(b))+min(page-at%page, base+size-at)]
		n, _ := r.client.Memory(at, part)
		b = b[:len(b)+n]
		at += uint64(len(part))
		if n < len(part) {
			break
		}
	}
	if len(b) > 0 {
		s.Memory = append(s.Memory, truth.Segment{Base: truth.Hex(base), Bytes: b})
	}
}

// answer is the true call chain of the moment.
func (r *recorder) answer(kind, own string) truth.Answer {
	a := truth.Answer{Prog: r.job.Prog, Step: r.Steps, Kind: kind, ModeBit: r.arch.ISABit}
	pc := r.was.pc
	for i := len(r.shadow.entries) - 1; i >= 0; i-- {
		e := &r.shadow.entries[i]
		f := truth.Frame{PC: truth.Hex(pc), Entry: truth.Hex(e.start), Kind: own, Func: r.name(pc)}
		cfa := truth.Hex(e.cfa)
		f.CFA = &cfa
		own = "call"
		switch {
		case r.exception(e):
			pc, own = e.ret, "interrupted"
			continue // EXC_RETURN is no frame
		case e.signal:
			f.Kind, f.Func, own = "sigtramp", "", "interrupted"
		}
		a.Frames = append(a.Frames, f)
		pc = e.ret
	}
	a.Frames = append(a.Frames, truth.Frame{PC: truth.Hex(pc), Func: r.name(pc - 1), Kind: "main-caller"})
	return a
}

func (r *recorder) name(pc uint64) string {
	if s, ok := r.img.Symbols.At(pc); ok {
		return s.Name
	}
	return ""
}
