package pclntab

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/pclntab"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// Stacks steps from the stack on which the runtime or C works for a goroutine to the goroutine's own, and from Go code that
// C called back to C's stack. A thread's m has both: g0, whose stack the kernel or C made, and curg.
//
//	goroutine        first ─► systemstack ─┐      first ─► asmcgocall ─┐       ┌─► callback ─► …
//	thread's stack                         └─► fn                      └─► C ──┘ by cgocallback
//
// Each leaves SP where the other side finds it: systemstack and morestack in g.sched, cgocallback in g0.sched, asmcgocall
// as a distance in its frame. What is read is checked: g lies on its m, SP on g's stack. The return address there must
// follow a call, like any other.
//
// mcall puts the goroutine aside that called, which may then run on another thread, while the thread runs others: the stack ends
// (Source.Rule). Until then the goroutine is the thread's, and g.sched has its caller: mcall itself runs, or its frame still has that g.
//
// Specifications: runtime/asm_*.s; runtime2.go, types g, m and gobuf; traceback.go, unwinder.resolveInternal.
type Stacks struct{}

var _ stackwalk.FrameSource = Stacks{}

// Method is MethodCFI: what the compiler's table says of the frame, and where the runtime says that the frame is.
func (Stacks) Method() unwind.Method { return unwind.MethodCFI }

// Knows implements stackwalk.ImageSource: Go programs have a table.
func (Stacks) Knows(img *image.Image) bool { return pclntab.Of(img) != nil }

// Step finds the caller of a function that has changed stacks.
func (Stacks) Step(s *stackwalk.State, out *stackwalk.Caller) unwind.Verdict {
	if s.Module == nil || s.Module.Image == nil {
		return unwind.NotCovered
	}
	arch := s.Snapshot.Arch
	pc := s.Module.ToImage(s.Site) & arch.AddrMask()
	f, ok := pclntab.Of(s.Module.Image).At(pc)
	if ok && f.TopFrame() {
		return below(s, &f, pc, out)
	}
	if !ok || !f.WritesSP() || f.Handles() {
		return unwind.NotCovered
	}
	c, ok := changeAt(s.Module.Image, &f, pc)
	if !ok || !c.made {
		return unwind.NotCovered
	}
	l, ok := left{}, false
	if m := machineOf(arch); m != nil {
		l, ok = thread{m, s.Snapshot, s.Regs, s.Thread}.left(f.Name(), uint64(c.height), s.Exact)
	}
	if v, known := s.Regs.Lookup(c.kept); known && !ok {
		l, ok = leftAt(s.Snapshot, v+uint64(c.rest-c.height), uint64(c.height))
	}
	switch {
	case !ok && (s.Exact || schedules(f.Name())): // SP may be by now as it was; the stack's end is a rule
		return unwind.NotCovered
	case !ok:
		return unwind.NoCaller
	}
	out.Regs.Set(arch.SP, l.sp)
	out.Regs.Set(arch.PC, l.ra)
	if l.g != 0 {
		out.Regs.Set(machineOf(arch).g, l.g)
	}
	out.CFA, out.HasCFA, out.Switched = l.sp, true, true
	return unwind.Found
}

// below finds the caller of a function that Go's stacks end with, where C or the code that starts threads called the
// function: mstart on a thread that C's library or the runtime began, rt0_go as C's main.
func below(s *stackwalk.State, f *pclntab.Function, pc uint64, out *stackwalk.Caller) unwind.Verdict {
	arch := s.Snapshot.Arch
	sp, known := s.Regs.Lookup(arch.SP)
	if !known || s.Exact {
		return unwind.NotCovered
	}
	l, ok := beneath(s, f, pc, sp)
	ra, mode := arch.SplitCode(l.ra)
	m, mapped := s.Snapshot.ModuleAt(ra - 1)
	if !ok || !mapped || m.Image == nil {
		return unwind.NotCovered
	}
	if caller, inGo := pclntab.Of(m.Image).At(m.ToImage(ra-1) & arch.AddrMask()); inGo && !starts(caller.Name()) && !caller.TopFrame() {
		return unwind.NotCovered
	}
	if _, kind := callsite.BeforeIn(s.Snapshot, m, ra, mode); kind != callsite.Call {
		return unwind.NotCovered
	}
	out.Regs.Set(arch.SP, l.sp)
	out.Regs.Set(arch.PC, l.ra)
	out.CFA, out.HasCFA = l.sp, true
	return unwind.Found
}

// beneath finds where such a function was called, whose code has lowered SP by what the table counts, and by itself.
func beneath(s *stackwalk.State, f *pclntab.Function, pc, sp uint64) (l left, ok bool) {
	height, counted := f.Height(pc)
	by, saved, read := lowered(s.Module.Image, f, pc)
	switch {
	case read && saved > 0 && by > saved: // SP was lowered once more
		return leftAt(s.Snapshot, sp+uint64(by-saved), uint64(saved))
	case height == 0 && s.Snapshot.Arch.LR == cpu.NoReg:
		height, counted = by, read
	}
	if !counted || height < 0 {
		return left{}, false
	}
	return leftAt(s.Snapshot, sp, uint64(height))
}

// machine is what differs from processor to processor.
type machine struct {
	name     string
	g        cpu.Reg // holds g in Go code; NoReg: thread-local storage does
	distance int     // in asmcgocall's frame, from the word with g to that with the distance, in words
	fixed    int     // words of a frame below the arguments that it passes
	saved    int     // the word of cgocallback's frame that has g0.sched.sp as it was
}

// machineOf is the row of a processor, nil if there is none.
func machineOf(arch *cpu.Arch) *machine {
	for _, m := range [...]machine{
		{"x86_64", 14, -1, 0, 0},
		{"i386", cpu.NoReg, -1, 0, 0},
		{"aarch64", 28, 1, 1, 2},
		{"arm", 10, -1, 1, 1},
		{"riscv64", 27, 1, 1, 1},
		{"mips", 30, 1, 1, 1},
		{"mips64", 30, 1, 1, 1},
	} {
		if m.name == arch.Name {
			return &m
		}
	}
	return nil
}

// thread reads what the runtime keeps for a thread whose frame has these registers.
type thread struct {
	*machine
	snap *target.Snapshot
	regs *cpu.Registers
	of   *target.Thread
}

// word is the i-th word at an address, 0 where that was not captured.
func (t thread) word(addr uint64, i int) uint64 {
	v, _ := t.snap.Memory.Word(addr + uint64(i*t.snap.Arch.AddrSize))
	return v
}

// goroutine is what a g says. Its fields have kept their places since Go 1.5:
//
//	words  0, 1  bounds of the stack   6  m   7, 8  sched: SP, PC
type goroutine struct{ addr, lo, hi, m, sp, pc uint64 }

// at is the g at an address, if there is one.
func (t thread) at(addr uint64) (g goroutine, ok bool) {
	g = goroutine{addr, t.word(addr, 0), t.word(addr, 1), t.word(addr, 6), t.word(addr, 7), t.word(addr, 8)}
	return g, addr != 0 && g.m != 0 && g.lo < g.hi
}

// holds tells whether SP lies on the goroutine's stack.
func (g *goroutine) holds(sp uint64) bool { return sp > g.lo && sp < g.hi }

// left is where a function was called from that has changed stacks: SP, the return address, and g, if that is known.
type left struct{ sp, ra, g uint64 }

// leftAt is where a function was called from whose frame has SP at sp, height bytes below the call, by Source.Rule.
func leftAt(snap *target.Snapshot, sp, height uint64) (l left, ok bool) {
	l.sp = sp + height
	if snap.Arch.LR == cpu.NoReg {
		sp, l.sp = l.sp, l.sp+uint64(snap.Arch.AddrSize)
	}
	l.ra, ok = snap.Memory.Word(sp)
	return l, ok && l.sp > sp
}

// left finds where the function of a name was called from, whose frame was height bytes high when it changed stacks.
// exact: the frame on the new stack may not be whole.
func (t thread) left(name string, height uint64, exact bool) (l left, ok bool) {
	var sp, g uint64
	switch {
	case name == "runtime.morestack", schedules(name):
		g, ok := t.current()
		return left{g.sp, g.pc, g.addr}, ok && (!schedules(name) || exact || t.mcalled(g.addr))
	case name == "runtime.systemstack":
		var curg goroutine
		curg, ok = t.current()
		sp, g = curg.sp, curg.addr
	case name == "runtime.asmcgocall" && !exact:
		sp, g, ok = t.calling()
	case name == "runtime.cgocallback" && !exact:
		if sp, ok = t.calledBack(height); !ok {
			sp, ok = t.parked()
		}
	}
	if !ok {
		return l, false
	}
	l, ok = leftAt(t.snap, sp, height)
	l.g = g
	return l, ok
}

// m is the m of the g that the frame's registers have; where thread-local storage has g, of the goroutine that the thread runs.
func (t thread) m() (m uint64, ok bool) {
	addr, ok := t.regs.Lookup(t.g)
	if t.g == cpu.NoReg && t.of.Task != nil && t.of.Task.Goroutine != nil {
		addr, ok = t.of.Task.Goroutine.Record, true
	}
	if !ok {
		return 0, false
	}
	g, ok := t.at(addr)
	return g.m, ok
}

// maxM is how many words of an m are looked at for curg, whose place depends on the version and the system: 20 to 30.
const maxM = 48

// current is the goroutine that the thread's m works for, and whose stack was left.
func (t thread) current() (g goroutine, ok bool) {
	m, ok := t.m()
	own, known := t.regs.Lookup(t.snap.Arch.SP)
	if !ok || !known {
		return g, false
	}
	g0, ok := t.at(t.word(m, 0))
	for i := 1; i < maxM && ok && g0.m == m; i++ {
		if g, is := t.at(t.word(m, i)); is && g.addr != g0.addr && g.m == m && g.holds(g.sp) && !g.holds(own) {
			return g, true
		}
	}
	return g, false
}

// mcalled tells whether mcall's frame has the goroutine that called: mcall puts that below the function which it calls. What a thread
// takes on next has called something before, too, but not this mcall. AArch64's passes g in a register only (runtime/asm_arm64.s).
func (t thread) mcalled(g uint64) bool {
	frame, ok := t.regs.Lookup(t.snap.Arch.SP)
	return ok && t.name != "aarch64" && t.word(frame, t.fixed) == g
}

// maxSaved is how many words asmcgocall's frame has on the thread's stack at most.
const maxSaved = 8

// calling is where SP was when asmcgocall was called, and by which goroutine. The frame has g, and beside that how
// far SP was below the end of g's stack; or no g, and SP, which was on the same stack.
func (t thread) calling() (sp, g uint64, ok bool) {
	frame, ok := t.regs.Lookup(t.snap.Arch.SP)
	if !ok {
		return 0, 0, false
	}
	for i := max(0, -t.distance); i < maxSaved; i++ {
		saved, beside := t.word(frame, i), t.word(frame, i+t.distance)
		if g, ok := t.at(saved); ok && g.holds(g.hi-beside) {
			return g.hi - beside, g.addr, true
		}
		if saved == 0 && beside > frame && beside-frame <= 2*maxSaved*uint64(t.snap.Arch.AddrSize) {
			return beside, 0, true
		}
	}
	return 0, 0, false
}

// parked is SP of a goroutine that waits, which no m runs: nothing leads to the thread's stack. cgocallback made its frame as if
// the Go code that called C had called it, so that the caller is that one, and the frames of C between are left out, as in the runtime's
// traces.
func (t thread) parked() (sp uint64, ok bool) {
	addr, ok := t.regs.Lookup(t.g)
	sp, known := t.regs.Lookup(t.snap.Arch.SP)
	if !ok || !known || addr == 0 {
		return 0, false
	}
	g := goroutine{addr: addr, lo: t.word(addr, 0), hi: t.word(addr, 1)}
	return sp, t.word(addr, 6) == 0 && t.word(addr, 9) == addr && g.holds(sp)
}

// maxCallbacks bounds how often C and Go have called one another on a thread.
const maxCallbacks = 1 << 10

// calledBack is SP of cgocallback's frame on the thread's stack, where the frame on the goroutine's is height bytes
// high: g0.sched has that of the last call, whose frame has that of the one before. Both frames have the same
// arguments: the function to call, and the address of its own on C's stack.
func (t thread) calledBack(height uint64) (sp uint64, ok bool) {
	own, ok := t.regs.Lookup(t.snap.Arch.SP)
	m, running := t.m()
	if !ok || !running {
		return 0, false
	}
	if t.snap.Arch.LR == cpu.NoReg {
		height += uint64(t.snap.Arch.AddrSize)
	}
	g0, _ := t.at(t.word(m, 0))
	sp = g0.sp
	for range maxCallbacks {
		fn, args := t.word(sp+height, t.fixed), t.word(sp+height, t.fixed+1)
		if fn != 0 && args != 0 && fn == t.word(own, t.fixed) && args == t.word(own, t.fixed+1) {
			return sp, true
		}
		before := t.word(sp, t.saved)
		if before <= sp {
			break
		}
		sp = before
	}
	return 0, false
}
