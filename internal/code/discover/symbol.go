package discover

import (
	"slices"
	"sort"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Declared is where the function begins and ends that the file says a place is of: by a symbol with a size, or else by an unwind
// table, or in a gap of the table by .init_array and .fini_array. A function that an array names ends where the next begins, as far as
// table and array tell. False where nothing says it.
func (e *Entries) Declared(pc uint64) (start disasm.Addr, hi uint64, ok bool) {
	if e.asked.Load() < fewAsked {
		e.asked.Add(1)
		return e.declaredAt(pc)
	}
	kept := &e.made.declared.Get(func() *[mostDeclared]keptDeclared { return new([mostDeclared]keptDeclared) })[(pc^pc>>8)%mostDeclared]
	if kept.mu.TryLock() {
		d := kept.declared
		kept.mu.Unlock()
		if d.known && d.pc == pc {
			return d.start, d.hi, d.ok
		}
	}
	start, hi, ok = e.declaredAt(pc)
	if kept.mu.TryLock() {
		kept.declared = declared{pc, hi, start, ok, true}
		kept.mu.Unlock()
	}
	return start, hi, ok
}

// declared is what Declared said of a place, which known tells.
type declared struct {
	pc, hi    uint64
	start     disasm.Addr
	ok, known bool
}

// keptDeclared is a place in the memory of Declared, which nobody waits for.
type keptDeclared struct {
	mu sync.Mutex
	declared
}

// mostDeclared is how many places are kept: an analysis asks of those around a function again and again. Of most images of a capture less
// than fewAsked places are asked, and none is kept.
const mostDeclared, fewAsked = 1 << 7, 1 << 6

func (e *Entries) declaredAt(pc uint64) (start disasm.Addr, hi uint64, ok bool) {
	lo, hi, mode, ok := e.code.Img.Symbols.FunctionAt(pc)
	if ok || e.search() == nil {
		return disasm.Addr{PC: lo, Mode: mode}, hi, ok
	}
	if lo, hi, ok = e.search()(pc); !ok && hi > lo {
		start, next, ok := e.inLine(pc)
		return start, min(hi, next), ok
	}
	_, mode = e.code.Arch.SplitCode(lo) // a table does not tell the instruction set
	return disasm.Addr{PC: lo, Mode: mode}, hi, ok
}

// EndsBehind tells whether the function of an instruction at pc ends in front of the next: the declared one does that has the
// instruction, or a function certainly begins at the next.
func (e *Entries) EndsBehind(pc uint64, next disasm.Addr) bool {
	if _, hi, ok := e.Declared(pc); ok {
		return next.PC >= hi
	}
	return e.IsEntry(next)
}

// CalledBelow are the nearest subroutines at or below a place, nearest first, within the declared function that has the place:
// assembly calls labels in the middle of what has a symbol.
func (e *Entries) CalledBelow(at disasm.Addr) []uint64 {
	entry, hi, ok := e.Declared(at.PC)
	if !ok || entry.Mode != at.Mode {
		return nil
	}
	all := e.subroutines.Get(entry, func() []uint64 { return calledWithin(e.code, entry, hi) })
	n := sort.Search(len(all), func(i int) bool { return all[i] > at.PC })
	near := slices.Clone(all[max(0, n-nearEntries):n])
	slices.Reverse(near)
	return near
}

// mostOfFunction bounds how many bytes of a function are looked at for calls into the function.
const mostOfFunction = 1 << 16

// calledWithin are, in order, the places behind a function's beginning that the function's code calls. A call of the next instruction
// reads the PC (i386).
func calledWithin(code disasm.Code, entry disasm.Addr, hi uint64) (list []uint64) {
	disasm.Each(code, entry, min(hi, entry.PC+mostOfFunction), func(at disasm.Addr, in *cpu.Insn) bool {
		if in.Op == cpu.OpCall && !disasm.IndirectCall(in) {
			to := disasm.Target(in)
			if to.Mode == entry.Mode && to.PC > entry.PC && to.PC < hi && to.PC != at.PC+uint64(in.Len) {
				list = append(list, to.PC)
			}
		}
		return true
	})
	slices.Sort(list)
	return slices.Compact(list)
}
