// Package callee tells what a direct call does to its caller: whether it comes back, what
// a return pops, which registers it changes.
//
//	call f ──► f by name       abort@plt, _ZSt20__throw_length_errorPKc: never returns
//	       ──► heights of f    has a return: ret 8 returns and pops 8
//	       ──► search in f     the first way back, calls in f stepped over that return
//
// In doubt a call returns: the analyses then go on behind the call, and find out by themselves where
// the code there does not fit the code before the call.
package callee

import (
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/memo"
)

// Effect is what a direct call does to its caller.
type Effect struct {
	// Returns: the call may come back.
	Returns bool
	// Pops is how many bytes a return removes beyond the return address (x86 ret n), or what else the callee leaves moved.
	Pops int64
	// Guess: no return was found, so that what the call pops is not known.
	Guess bool
	// Unsaid: nor does the caller tell what was popped, which sets SP to what another register holds.
	Unsaid bool
	// PC is the register into which the callee copies the return address, for callees that do
	// nothing else (i386's PC thunks); cpu.NoReg for all others.
	PC cpu.Reg
}

// Clobbers are the registers that the call changes.
func (e *Effect) Clobbers(callerSaved cpu.RegSet) cpu.RegSet {
	if e.PC != cpu.NoReg {
		return cpu.SetOf(e.PC)
	}
	return callerSaved
}

// Returning is the effect of a function that leaves by this return.
func Returning(in *cpu.Insn) Effect {
	e := Effect{Returns: true, PC: cpu.NoReg}
	if in.Src == cpu.NoReg {
		e.Pops = in.Imm
	}
	return e
}

// perhaps is the effect of a function of which nothing is known.
func perhaps() Effect { return Effect{Returns: true, Guess: true, PC: cpu.NoReg} }

// never is the effect of a function that does not come back.
func never() Effect { return Effect{PC: cpu.NoReg} }

// Effects finds the effects of one image's direct calls, and keeps a bounded number of them. Any
// goroutine may ask.
type Effects struct {
	code      disasm.Code
	pops      bool // returns of the processor may pop arguments
	hasReturn func(disasm.Addr) (Effect, bool)

	// By key (disasm.Addr.Key): the answers of Of, the results of searches, the GOT entries
	// of stubs.
	calls   memo.Table[uint64, Effect]
	found   memo.Table[uint64, byDepth]
	stubs   memo.Table[uint64, uint64]
	exports memo.Table[exported, Export]
	// recent are answers of Of that one goroutine got; nil where several ask.
	recent []answer

	searches sync.Pool // of *search
	// got is the address that i386's PLT stubs have in ebx, 0 if unknown.
	got func() uint64
}

const (
	// maxFunctions bounds the functions in each half of the memory: those of an image of
	// 10 MB. Of greater images, a search is made again.
	maxFunctions = 1 << 15
	// maxStubs bounds the stubs, and what libraries export for them.
	maxStubs = 1 << 12
)

// New returns the effects of an image's calls. hasReturn tells the effect of a function of
// which stack heights have proven a return, as far as that is known already; nil where no
// heights are at hand.
func New(c disasm.Code, hasReturn func(disasm.Addr) (Effect, bool)) *Effects {
	f := &Effects{code: c, pops: c.Arch.CallPushesRA && c.Arch.AddrSize == 4, hasReturn: hasReturn}
	f.calls.Bound, f.found.Bound = maxFunctions, maxFunctions
	f.stubs.Bound, f.exports.Bound = maxStubs, maxStubs
	f.got = sync.OnceValue(func() uint64 { return globalOffsetTable(c) })
	f.searches.New = func() any { return newSearch(f) }
	return f
}

// Fork returns the effects of the same calls with a memory of their own, for one goroutine.
func (f *Effects) Fork(hasReturn func(disasm.Addr) (Effect, bool)) *Effects {
	fork := New(f.code, hasReturn)
	fork.recent = make([]answer, keptRecent)
	return fork
}

// answer is what Of has said of the function with a key, which is not 0.
type answer struct {
	key uint64
	Effect
}

// keptRecent is how many answers are found without a map: functions call the same ones as their neighbours.
const keptRecent = 1 << 12

// Of is what a direct call of the function at a place does.
func (f *Effects) Of(to disasm.Addr) Effect {
	e, ok := f.Find(to)
	if ok {
		return e
	}
	e = f.atDepth(to, maxDepth)
	e.PC = cpu.NoReg
	if !f.code.Arch.CallPushesRA {
		e.Pops = f.makesRoom(to)
	} else if r, ok := disasm.PCThunk(f.code, to); ok {
		e.PC = r
	}
	f.calls.Keep(to.Key(), e)
	return e
}

// Behind is what a direct call of the function at a place did that has returned to next. What
// functions of libraries pop, and others of which no return was found, the caller tells: one for i386
// that returns a structure pops the pointer to it (System V ABI, i386, "Functions Returning Structures or
// Unions"), and callers that keep room for arguments, and push none, take that back at once:
//
//	89 2c 24        mov  %ebp,(%esp)
//	e8 08 fa ff ff  call std::current_exception()@plt
//	83 ec 04        sub  $0x4,%esp
//
// Functions of Windows pop all their arguments (stdcall).
func (f *Effects) Behind(to disasm.Addr, next uint64) Effect {
	return f.takenBackAt(f.Of(to), next)
}

// takenBackAt is an effect with what the code at next takes back at once, where no return tells what was popped.
func (f *Effects) takenBackAt(e Effect, next uint64) Effect {
	if f.pops && e.Guess && e.Pops == 0 {
		e.Pops = f.retaken(disasm.Addr{PC: next})
	}
	return e
}

// makesRoom is by how much a callee leaves the stack pointer moved, in programs for Windows on ARM64: what MSVC calls to put a
// cookie into frames. No other function does so.
//
//	__security_push_cookie    sub sp,sp,#0x10; …; str x17,[sp,#8]; ret
//	__security_pop_cookie     …; add sp,sp,#0x10; ret
func (f *Effects) makesRoom(to disasm.Addr) (pops int64) {
	var buf [12]cpu.Insn
	if f.code.Img.System != "windows" {
		return 0
	}
	for i := range f.code.Decode(to, buf[:]) {
		in := &buf[i]
		if in.Op == cpu.OpReturn {
			return pops
		}
		if by, known := movesSP(in, f.code.Arch); known {
			pops += by
		}
		if in.Op == cpu.OpCall || in.Op == cpu.OpJump {
			return 0
		}
	}
	return 0
}

// maxStdcall is how many words of arguments the functions of Windows pop at most: CreateFontA has 14.
const maxStdcall = 16

// retaken is how much code allocates that then pushes nothing before it leaves its block: a word or, in programs for Windows,
// several; else 0.
func (f *Effects) retaken(at disasm.Addr) int64 {
	var buf [12]cpu.Insn
	arch, most := f.code.Arch, int64(f.code.Arch.AddrSize)
	if f.code.Img.System == "windows" {
		most *= maxStdcall
	}
	by, known := int64(0), false
	if f.code.Decode(at, buf[:1]) != 0 && buf[0].Op == cpu.OpAddImm {
		by, known = movesSP(&buf[0], arch)
	}
	if !known || by >= 0 || by < -most || by%int64(arch.AddrSize) != 0 {
		return 0
	}
	n := f.code.Decode(at, buf[:])
	for i := 1; i < n; i++ {
		if disasm.Transfers(&buf[i], arch) {
			return -by
		}
		if buf[i].Base == arch.SP && buf[i].WB != 0 {
			return 0
		}
	}
	if n == len(buf) {
		return -by
	}
	return 0
}

// Find is Of for what was asked before; false for all else.
func (f *Effects) Find(to disasm.Addr) (Effect, bool) {
	key := to.Key()
	if f.recent == nil {
		return f.calls.Find(key)
	}
	r := &f.recent[(key^key>>10)%keptRecent]
	if r.key == key && key != 0 {
		return r.Effect, true
	}
	e, ok := f.calls.Find(key)
	if ok {
		*r = answer{key, e}
	}
	return e, ok
}

// NeverReturns tells whether no path of a function leads back to its caller: abort, exit,
// longjmp and what ends in them.
func (f *Effects) NeverReturns(to disasm.Addr) bool { return !f.atDepth(to, maxDepth).Returns }

// maxDepth bounds calls within calls that a search asks about; deeper ones are taken to
// return.
const maxDepth = 3

// byDepth is what searches in one function found, by the depth of calls within calls up to which
// the search asked about callees; the first element is for depth 1.
type byDepth [maxDepth]struct {
	pops                  int32
	known, returns, guess bool
}

// at is the effect at a depth, if known.
func (m *byDepth) at(depth int) (Effect, bool) {
	d := &m[depth-1]
	return Effect{Returns: d.returns, Pops: int64(d.pops), Guess: d.guess, PC: cpu.NoReg}, d.known
}

// add keeps the effect that a search of some depth found, for all depths at which a search would
// find the same: so no answer depends on what was asked before. At greater depth more calls are
// found never to return. So a function that returns by a deep search returns by shallower ones
// too, and a function that never returns by a shallow search never returns by deeper ones. An
// effect that was found without asking about calls (alone) holds at any depth.
func (m *byDepth) add(e Effect, depth int, alone bool) {
	for i := range m {
		if alone || i+1 == depth || e.Returns == (i+1 < depth) {
			m[i].pops, m[i].returns, m[i].guess, m[i].known = int32(e.Pops), e.Returns, e.Guess, true
		}
	}
}

// atDepth is the effect of a function where calls up to a depth are asked about.
func (f *Effects) atDepth(to disasm.Addr, depth int) Effect {
	if depth == 0 {
		return perhaps()
	}
	key := to.Key()
	m, _ := f.found.Find(key)
	if e, ok := m.at(depth); ok {
		return e
	}
	e, alone := f.find(to, depth)
	if !alone {
		m, _ = f.found.Find(key) // a function that calls itself has come by meanwhile
	}
	m.add(e, depth, alone)
	f.found.Keep(key, m)
	return e
}

// find finds the effect of a function by its name, by its heights, or by a search; alone:
// without asking about other functions.
func (f *Effects) find(to disasm.Addr, depth int) (e Effect, alone bool) {
	slot, _ := f.StubSlot(to)
	if f.namedNoReturn(to, slot) {
		return never(), true
	}
	if own, ok := f.ownImport(to, slot); ok {
		to = own
	}
	if f.hasReturn != nil {
		if e, ok := f.hasReturn(to); ok {
			return e, true
		}
	}
	s := f.searches.Get().(*search)
	defer f.searches.Put(s)
	return s.from(to, depth)
}
