// Package discover finds where functions begin, in a program that need not say so.
//
// Entries are of two ranks. Certain ones bound functions, and analyses start there; to
// candidates, analyses go where no certain entry explains a place.
//
//	what the file declares          certain     entry point, symbols, ranges of unwind tables
//	what the entry point hands on   certain     main
//	where declared code calls       certain     direct calls: a linear pass over the text, or
//	                                            recursive descent where there are two
//	                                            instruction sets
//	where code names itself         certain     lui gp; addiu gp; addu gp,t9 (MIPS)
//	what data points to             candidate   tables of functions, but of labels as well
//	what code builds the address of candidate   lea f(%rip),%rdi
//	where jumps leave a function    candidate   functions that are only tail-called
//
// A question pays for the code around, not for the image, as far as that goes: one fast pass finds
// all bytes that read as calls, and which are calls is looked at page by page; the candidates of a
// large image are found region by region.
//
// All addresses are image addresses; lists hold keys (disasm.Addr.Key).
package discover

import (
	"slices"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/memo"
)

// Ranges lists the functions that unwind tables know of, in image addresses.
type Ranges func(img *image.Image, yield func(lo, hi uint64) bool)

// Entries are where functions of one image begin. Any goroutine may ask; each list is
// made when the first question needs the list.
type Entries struct {
	code       disasm.Code
	certain    func() *certain
	pointed    func() *pointed // what data points to
	holders    func() bool
	candidates func() *candidates
	near       func(disasm.Addr) *candidates // around a place; those far from there may be missing
	farJumps   func() *farJumps              // nil where the candidates have them
	mentioned  func() *mentionIndex
	returns    memo.Table[disasm.Addr, []uint64]
}

// keptReturns bounds a generation of functions whose callers are known.
const keptReturns = 1024

// New returns the entries of an image. ranges may be nil.
func New(c disasm.Code, ranges Ranges) *Entries {
	e := &Entries{code: c}
	e.certain = sync.OnceValue(func() *certain { return findCertain(c, ranges) })
	e.pointed = sync.OnceValue(func() *pointed { return allPointers(c, e.certain().literals) })
	e.holders = sync.OnceValue(func() bool { return holdersAmong*e.pointed().words >= len(e.Certain()) })
	e.candidates = sync.OnceValue(func() *candidates { return findCandidates(c, e.certain()) })
	e.farJumps = sync.OnceValue(func() *farJumps { return findFarJumps(c, e.certain()) })
	regions := sync.OnceValue(func() *regions { return newRegions(c, e.certain(), e.pointed) })
	e.near = func(at disasm.Addr) *candidates {
		if r := regions(); r != nil {
			return r.at(at)
		}
		return e.candidates()
	}
	e.mentioned = sync.OnceValue(func() *mentionIndex { return newMentionIndex(e) })
	e.returns.Bound = keptReturns
	return e
}

// Certain are the certain entries, as sorted keys.
func (e *Entries) Certain() []uint64 { return e.certain().entries.list() }

// Starts are sorted keys of all places worth an analysis of their own when a whole image
// is listed: the certain entries, and what data points to unless tables list all functions.
func (e *Entries) Starts() []uint64 {
	starts := e.Certain()
	if !e.AllListed() {
		starts = append(starts, e.pointed().list()...)
	}
	return sorted(starts)
}

// Possible are sorted keys of all places where functions may begin: Starts and, unless tables list
// all functions, what code points to.
func (e *Entries) Possible() []uint64 {
	if e.AllListed() {
		return e.Starts()
	}
	return sorted(append(e.Starts(), e.candidates().entries...))
}

// IsEntry tells whether a function certainly begins at a place.
func (e *Entries) IsEntry(at disasm.Addr) bool { return e.certain().entries.has(at) }

// Next is the address of the first certain entry above pc that is not self; without one,
// the end of pc's segment.
func (e *Entries) Next(pc, self uint64) uint64 {
	if next, ok := e.certain().entries.next(pc, self); ok {
		return next
	}
	return endOf(e.code, pc)
}

const (
	// nearEntries is how many certain entries below a place are tried: the nearest can
	// be a false one inside the function.
	nearEntries = 4
	// nearPointed is the same for places that data points to: some are labels.
	nearPointed = 8
	// nearCandidates is the same for candidates, many of which are labels.
	nearCandidates = 24
)

// Below are the addresses of the nearest certain entries at or below a place and of its
// mode, nearest first.
func (e *Entries) Below(at disasm.Addr) []uint64 {
	return e.certain().entries.below(at, nearEntries)
}

// CandidatesBelow is Below for candidates.
func (e *Entries) CandidatesBelow(at disasm.Addr) []uint64 {
	return e.near(at).entries.below(e.code, at, nearCandidates)
}

// PointedBelow is Below for the places that data points to; empty where tables list all
// functions.
func (e *Entries) PointedBelow(at disasm.Addr) []uint64 {
	if e.AllListed() {
		return nil
	}
	return e.pointed().below(at, nearPointed)
}

// NextPointer is the first address that data points to, from two bytes behind pc on; the
// highest address where there is none, or where tables list all functions.
func (e *Entries) NextPointer(pc uint64) uint64 {
	if e.AllListed() {
		return ^uint64(0)
	}
	if next, ok := e.pointed().next(pc+1, pc); ok {
		return next
	}
	return ^uint64(0)
}

// AddressTaken tells whether data or code holds a pointer to a place, in a large image code around.
func (e *Entries) AddressTaken(at disasm.Addr) bool {
	return disasm.LooksLikeCode(e.code, at) && e.near(at).taken.has(at)
}

// BuiltByCode tells whether code builds the address of a place, or has it as a literal; in a large
// image, code around.
func (e *Entries) BuiltByCode(at disasm.Addr) bool { return e.near(at).built.has(at) }

// holdersAmong is the least share of pointers in an image that holds those to its functions: one
// for so many certain entries. Of 35,000 functions of a Linux kernel for MIPS a third are pointed to,
// of 50,000 of a kernel for arm64 none before it has relocated itself.
const holdersAmong = 16

// HoldsPointers tells whether words of the image are the pointers to its functions that a running
// program has, and are not left to a loader.
func (e *Entries) HoldsPointers() bool { return e.holders() }

// OnlyCodeNames tells whether a place is a candidate to which no data points. A function
// is, that code prepares to call (the choices of glibc's IFUNC resolvers); the labels of a
// computed goto are not, whose addresses data holds.
func (e *Entries) OnlyCodeNames(at disasm.Addr) bool {
	return e.near(at).entries.has(at) && !e.pointed().has(at)
}

// FarJumpsBelow are the nearest jumps over a certain entry whose targets lie at or below
// pc, the highest target first.
func (e *Entries) FarJumpsBelow(pc uint64) (near []cpu.CallRef) {
	var list []jump
	if far := e.farJumps(); far != nil {
		list = far.below(pc, nearCandidates)
	} else {
		list = targetsBelow(e.code, e.candidates().farJumps, pc, nearCandidates)
	}
	for _, j := range slices.Backward(list) {
		to := e.code.Addr(j.to)
		near = append(near, cpu.CallRef{Site: j.from, Target: to.PC, TargetMode: to.Mode})
	}
	return near
}

// StartsImage tells whether the program begins at a place: nothing called that code.
func (e *Entries) StartsImage(at disasm.Addr) bool {
	if e.code.Img.Entry == 0 {
		return false
	}
	pc, mode := e.code.Arch.SplitCode(e.code.Img.Entry)
	return at == disasm.Addr{PC: pc, Mode: mode}
}

// HandedOn are the functions whose addresses the code at the image's entry point hands on, to be
// called through them, as keys that the caller must not change: main.
func (e *Entries) HandedOn() []uint64 { return e.certain().handedOn }

// AllListed tells whether unwind tables list all functions of the image.
func (e *Entries) AllListed() bool { return e.certain().all }
