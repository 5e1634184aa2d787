// Package discover finds where functions begin, in a program that need not say so.
//
// Entries are of two ranks. Certain ones bound functions, and analyses start there; to
// candidates, analyses go where no certain entry explains a place.
//
//	what the file declares          certain     entry point, symbols, .init_array and .fini_array, ranges of
//	                                            unwind tables
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
	"sync/atomic"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/memo"
)

// Tables tell what unwind tables know of functions, in image addresses.
type Tables struct {
	// Functions lists the functions.
	Functions func(img *image.Image, yield func(lo, hi uint64) bool)
	// FunctionAt is, for an image, what bounds the function that has a place, where a search tells that and no list is needed; nil:
	// there is no such search.
	FunctionAt func(img *image.Image) Search
}

// Search bounds the function that has a place. Where none has, which ok tells, lo and hi bound the gap between two functions; both are
// 0 where the tables do not tell.
type Search func(pc uint64) (lo, hi uint64, ok bool)

// Entries are where functions of one image begin. Any goroutine may ask; each list is
// made when the first question needs the list.
type Entries struct {
	code   disasm.Code
	tables *Tables
	// listed is what the file declares, undeclared that and what only the code tells. Where tables list all
	// functions, a place that they do not cover takes the second, as if there were no tables.
	listed, undeclared knowledge
	made               struct {
		search    memo.Once[Search]
		lines     memo.Once[[]line]
		holders   memo.Once[bool]
		mentioned memo.Once[*mentionIndex]
		declared  memo.Once[*[mostDeclared]keptDeclared] // by hash of the place
	}
	asked       atomic.Uint32 // how often Declared was
	returns     memo.Table[disasm.Addr, []uint64]
	subroutines memo.Table[disasm.Addr, []uint64] // by where the symbol begins
}

// keptReturns bounds a generation of functions whose callers are known.
const keptReturns = 1024

// New returns the entries of an image. tables may be nil.
func New(c disasm.Code, tables *Tables) *Entries {
	e := &Entries{code: c, tables: tables}
	e.listed = knowledge{code: c, find: func() *certain { return findListed(c, tables) }}
	e.undeclared = knowledge{code: c, find: func() *certain { return findUndeclared(c, e.listed.certain()) }}
	e.returns.Bound, e.subroutines.Bound = keptReturns, keptReturns
	return e
}

// search is that of unwind tables, nil where none is to be asked: code of two instruction sets is told apart by lists.
func (e *Entries) search() Search {
	return e.made.search.Get(func() Search {
		if e.tables == nil || e.tables.FunctionAt == nil || twoSets(e.code) {
			return nil
		}
		return e.tables.FunctionAt(e.code.Img)
	})
}

func (e *Entries) lines() []line { return e.made.lines.Get(e.findLines) }

func (e *Entries) mentioned() *mentionIndex {
	return e.made.mentioned.Get(func() *mentionIndex { return newMentionIndex(e) })
}

// known is what is known of the whole image.
func (e *Entries) known() *knowledge {
	if e.AllListed() {
		return &e.listed
	}
	return &e.undeclared
}

// around is what is known of a place.
func (e *Entries) around(pc uint64) *knowledge {
	if e.Lists(pc) {
		return &e.listed
	}
	return &e.undeclared
}

func (e *Entries) certain() *certain               { return e.known().certain() }
func (e *Entries) pointed() *pointed               { return e.known().pointed() }
func (e *Entries) candidates() *candidates         { return e.known().candidates() }
func (e *Entries) near(at disasm.Addr) *candidates { return e.around(at.PC).near(at) }

// Certain are the certain entries, as sorted keys.
func (e *Entries) Certain() []uint64 { return e.certain().entries.list() }

// Starts are sorted keys of all places worth an analysis of their own when a whole image
// is listed: the certain entries, and what data points to unless tables list all functions.
func (e *Entries) Starts() []uint64 {
	if e.AllListed() {
		return e.Certain()
	}
	var certain, pointed keys // for both, one core reads the whole image at times: beside the other
	onAllCores(2, 1, func(_, i int) {
		if i == 0 {
			certain = e.Certain()
		} else {
			pointed = e.pointed().list()
		}
	})
	return e.inCode(merged(append(certain, pointed...), len(certain)))
}

// inCode are the places, of sorted keys, that lie in code as far as the file tells. Pointers lead to texts, too, and many a text reads
// as code: in a static busybox for MIPS, which has its texts behind its code, a quarter of what data points to.
func (e *Entries) inCode(all keys) keys {
	ranges := e.code.Img.Code()
	return slices.DeleteFunc(all, func(key uint64) bool {
		pc := e.code.Addr(key).PC
		for len(ranges) > 0 && pc >= ranges[0].Addr && pc-ranges[0].Addr >= ranges[0].Size {
			ranges = ranges[1:]
		}
		return len(ranges) == 0 || pc < ranges[0].Addr
	})
}

// Possible are sorted keys of all places where functions may begin: Starts and, unless tables list
// all functions, what code points to.
func (e *Entries) Possible() []uint64 {
	if e.AllListed() {
		return e.Starts()
	}
	return sorted(append(e.Starts(), e.candidates().list()...))
}

// IsEntry tells whether a function certainly begins at a place.
func (e *Entries) IsEntry(at disasm.Addr) bool {
	if start, _, ok := e.Declared(at.PC); ok {
		return start == at
	}
	return e.around(at.PC).certain().entries.has(at)
}

// Next is where the declared function ends that has pc, in pc's segment; without one, the address of the first certain entry above pc
// that is not self; without one, the end of pc's segment.
func (e *Entries) Next(pc, self uint64) uint64 {
	if _, hi, ok := e.Declared(pc); ok {
		return min(hi, endOf(e.code, pc))
	}
	if next, ok := e.around(pc).certain().entries.next(pc, self); ok {
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
// mode, nearest first: one where a declared function has the place.
func (e *Entries) Below(at disasm.Addr) []uint64 {
	if start, _, ok := e.Declared(at.PC); ok && start.Mode == at.Mode {
		return []uint64{start.PC}
	}
	return e.around(at.PC).certain().entries.below(make([]uint64, 0, nearEntries), at)
}

// Nearest is the first of Below.
func (e *Entries) Nearest(at disasm.Addr) (pc uint64, ok bool) {
	if start, _, ok := e.Declared(at.PC); ok && start.Mode == at.Mode {
		return start.PC, true
	}
	var room [1]uint64
	list := e.around(at.PC).certain().entries.below(room[:0], at)
	return room[0], len(list) > 0
}

// CandidatesBelow is Below for candidates.
func (e *Entries) CandidatesBelow(at disasm.Addr) []uint64 {
	return e.near(at).entries.below(make([]uint64, 0, nearCandidates), e.code, at)
}

// PointedBelow is Below for the places that data points to; empty where the file declares the function.
func (e *Entries) PointedBelow(at disasm.Addr) []uint64 {
	if e.Declares(at.PC) {
		return nil
	}
	return e.undeclared.pointed().below(make([]uint64, 0, nearPointed), at)
}

// NextPointer is the first address that data points to, from two bytes behind pc on; the
// highest address where there is none, or where the file declares the function.
func (e *Entries) NextPointer(pc uint64) uint64 {
	if e.Declares(pc) {
		return ^uint64(0)
	}
	if next, ok := e.undeclared.pointed().next(pc+1, pc); ok {
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
func (e *Entries) HoldsPointers() bool {
	return e.made.holders.Get(func() bool { return holdersAmong*e.pointed().words >= len(e.Certain()) })
}

// OnlyCodeNames tells whether a place is a candidate to which no data points. A function
// is, that code prepares to call (the choices of glibc's IFUNC resolvers); the labels of a
// computed goto are not, whose addresses data holds.
func (e *Entries) OnlyCodeNames(at disasm.Addr) bool {
	return e.near(at).entries.has(at) && !e.around(at.PC).pointed().has(at)
}

// FarJumpsBelow are the nearest jumps over a certain entry whose targets lie at or below
// pc, the highest target first.
func (e *Entries) FarJumpsBelow(pc uint64) (near []cpu.CallRef) {
	var list []jump
	k := e.around(pc)
	if far := k.farJumps(); far != nil {
		list = far.below(pc, nearCandidates)
	} else {
		list = targetsBelow(e.code, k.candidates().farJumps, pc, nearCandidates)
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

// Lists tells whether unwind tables, which list all functions but few, list that of a place.
func (e *Entries) Lists(pc uint64) bool { return e.listed.certain().lists(pc) }

// Declares tells whether the file says of which function a place is. V8's builtins have symbols, and no unwind tables.
func (e *Entries) Declares(pc uint64) bool {
	_, _, declared := e.Declared(pc)
	return declared || e.Lists(pc)
}

// AllListed tells whether unwind tables list all functions of the image but few.
func (e *Entries) AllListed() bool { return e.listed.certain().all }
