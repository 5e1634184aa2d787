package edges

import (
	"weak"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/memo"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// memos are the answers for one image that are remembered, for as long as there is room.
type memos struct {
	reached memo.Table[reach, reachable]
	// of calls through registers and pointers, by site
	calls   memo.Table[disasm.Addr, calls]
	targets memo.Table[disasm.Addr, targets]
	ofCalls memo.Table[callQuestion, bool]
	// of functions, by entry
	pointed memo.Table[disasm.Addr, unwind.Answer] // may a pointer lead there?
	held    memo.Table[disasm.Addr, bool]          // may code get the address from data or build it?
	slots   memo.Table[slotKey, unwind.Answer]     // does a table hold the function at an offset?
	callers memo.Table[disasm.Addr, callers]
	imports memo.Table[disasm.Addr, importName] // of PLT stubs
}

// keptAnswers bounds a generation of answers: in a batch of captures the same places come
// up again and again.
const keptAnswers = 4096

// keptTargets bounds a generation of targets, in words.
const keptTargets = 8 * keptAnswers

// bound says how much is remembered.
func (k *memos) bound() {
	for _, bound := range []*int{&k.reached.Bound, &k.ofCalls.Bound, &k.calls.Bound, &k.pointed.Bound, &k.held.Bound,
		&k.slots.Bound, &k.callers.Bound, &k.imports.Bound} {
		*bound = keptAnswers
	}
	k.targets.Bound, k.targets.Weigh = keptTargets, func(t targets) int { return 1 + len(t.known) }
}

// reach is a question whether control comes from an entry to pc, both of one image.
type reach struct {
	entry disasm.Addr
	pc    uint64
}

// reachable is what a question cost, and the answer.
type reachable struct {
	unwind.Answer
	cost uint32
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

// callQuestion is a question about a frame's call: the callee's module, which is one process's, its place, and the
// return address to the caller, target addresses. byJump: the call is known to lead to the callee by way of a jump.
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
