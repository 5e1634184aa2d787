// Package edges tells of calls: where each goes, what leads to a function, and how surely. It answers
// the walker's questions (stackwalk.CallGraph) from the bottom up:
//
//	functions ─► stubs ─► tail calls ─► where a call goes ─► whether another call may have been made
//	pointers, registers ─► index of an image's calls ─► what leads to a function
package edges

import (
	"weak"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/callsite"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/code/features"
	"github.com/backsight/backsight/internal/memo"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Graph implements stackwalk.CallGraph.
type Graph struct {
	tables *discover.Tables
}

// New returns the graph of calls. tables tell what unwind tables know of functions; nil: none are asked.
func New(tables *discover.Tables) *Graph { return &Graph{tables: tables} }

// program is what is known of the calls of one image's code.
type program struct {
	*analyses.Image
	memos memos
}

type programKey struct{}

// of returns what is known of an image.
func (g *Graph) of(img *image.Image) *program {
	return img.Memo(programKey{}, func() any {
		p := &program{Image: analyses.Of(img, g.tables)}
		p.memos.bound()
		return p
	}).(*program)
}

// place is a place in the code of a module, as the module's image has it.
type place struct {
	*program
	m  *target.Module
	at disasm.Addr
}

// in is the place at a target address in m; ok is false where m has no code that can be decoded.
func (g *Graph) in(m *target.Module, pc uint64, mode cpu.Mode) (p place, ok bool) {
	if m == nil || m.Image == nil || m.Image.Arch.Decoder == nil {
		return p, false
	}
	return place{g.of(m.Image), m, disasm.Addr{PC: inImage(m, pc), Mode: mode}}, true
}

// inImage is a target address in the terms of a module's image.
func inImage(m *target.Module, pc uint64) uint64 { return m.ToImage(pc) & m.Image.Arch.AddrMask() }

// callBefore is the call that returns to the place; ok is false where no call stands before.
func (p place) callBefore() (call cpu.CallSite, ok bool) {
	text, ok := p.Img.Segments.At(p.at.PC - 1)
	if !ok {
		return call, false
	}
	return callsite.InSegment(p.m, text, p.at.PC, p.at.Mode)
}

// capture is all code of a snapshot.
type capture struct {
	*Graph
	snap *target.Snapshot
}

// find is the place at a target address; ok is false where no module has code.
func (c capture) find(at disasm.Addr) (p place, ok bool) {
	m, ok := c.snap.ModuleAt(at.PC)
	if !ok {
		return p, false
	}
	return c.in(m, at.PC, at.Mode)
}

// memos are the answers for one image that are remembered, for as long as there is room.
type memos struct {
	reached memo.Table[question, finding]
	told    memo.Table[question, finding] // of the other kinds
	// of calls through registers and pointers, by site
	calls   memo.Table[disasm.Addr, calls]
	targets memo.Table[disasm.Addr, targets]
	ofCalls memo.Table[callQuestion, bool]
	// of functions, by entry
	pointed  memo.Table[disasm.Addr, stackwalk.Answer] // may a pointer lead there?
	held     memo.Table[disasm.Addr, bool]             // may code get the address from data or build it?
	slots    memo.Table[slotKey, stackwalk.Answer]     // does a table hold the function at an offset?
	callers  memo.Table[disasm.Addr, callers]
	framed   memo.Table[disasm.Addr, []stackwalk.Rule] // at jumps to unknown places
	imports  memo.Table[disasm.Addr, importName]       // of PLT stubs
	features memo.Table[disasm.Addr, *features.Function]
}

// keptAnswers bounds a generation of answers: in a batch of captures the same places come
// up again and again.
const keptAnswers = 4096

// keptTargets bounds a generation of targets, in words.
const keptTargets = 8 * keptAnswers

// bound says how much is remembered.
func (k *memos) bound() {
	for _, bound := range []*int{&k.reached.Bound, &k.ofCalls.Bound, &k.told.Bound, &k.calls.Bound, &k.pointed.Bound, &k.held.Bound,
		&k.slots.Bound, &k.callers.Bound, &k.framed.Bound, &k.imports.Bound, &k.features.Bound} {
		*bound = keptAnswers
	}
	k.targets.Bound, k.targets.Weigh = keptTargets, func(t targets) int { return 1 + len(t.known) }
}

// question is one that the code of an image alone answers: about a place, or about two, or a place and a register.
type question struct {
	kind
	at    disasm.Addr
	other uint64
}

// finding is the answer to a question, and a number: what the answer cost, or by how much a register was moved.
type finding struct {
	stackwalk.Answer
	n uint32
}

// kind is what is asked.
type kind uint8

const (
	reaches       kind = iota // does control come from an entry to another place?
	goesOnHere                // is a function proven to go on at a place, with a frame?
	namedOnly                 // does a pointer alone say that a function begins there?
	behindSyscall             // does a system call stand before?
	endsThread                // does a thread end there?
	goesAnywhere              // does a call of the code there go on to anywhere?
	jumpsInto                 // does the function that begins there jump to that of another place?
	movesPointer              // by how much has the function moved a register that points to a shadow stack?
)

// answer is what find answers to a question, whose memory is used once. Warm walks ask anew about frames that several answers
// together led to.
func (p *program) answer(q question, find func() bool) bool {
	a, ok := p.memos.told.Find(q)
	if !ok {
		if a.Answer = stackwalk.No; find() {
			a.Answer = stackwalk.Yes
		}
		p.memos.told.Keep(q, a)
	}
	return a.Answer == stackwalk.Yes
}

// calls is where an indirect call goes: through the word at slot, or to a place that constants tell.
type calls struct {
	slot          uint64
	to            disasm.Addr
	bySlot, known bool
}

// targets are where a call through a register may go.
type targets struct {
	known []disasm.Addr // sorted by address
	all   bool          // there are no others
}

// callQuestion is a question about a frame's call: the callee's module, which is one process's, the callee's place,
// and the return address to the caller. Both are target addresses. byJump: the call is known to lead to the callee by way of a jump.
type callQuestion struct {
	callee       weak.Pointer[target.Module]
	pc, ra       uint64
	mode         cpu.Mode
	sole, byJump bool
}

// slotKey is the question whether a table holds a function at an offset.
type slotKey struct {
	function disasm.Addr
	offset   uint64
}

// callers are where the calls return to that lead to a function, as image addresses; all: nothing
// else leads there.
type callers struct {
	returns []uint64
	all     bool
}

// importName is the word by which a PLT stub names its import: a number, or the image address of the
// GOT entry.
type importName struct {
	word     uint64
	slot, ok bool
}
