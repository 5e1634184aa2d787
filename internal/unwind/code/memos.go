package code

import (
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/memo"
	"github.com/backsight/backsight/unwind"
)

// memos are what was found out of the program, for as long as that is remembered.
type memos struct {
	// of places where frames are
	answers  memo.Table[question, answer]
	searched memo.Table[question, result]
	reached  memo.Table[reach, reachable]
	// of calls through registers and pointers, by site
	calls   memo.Table[disasm.Addr, calls]
	targets memo.Table[disasm.Addr, targets]
	ofCalls memo.Table[callQuestion, bool]
	// of functions, by entry
	pointed memo.Table[disasm.Addr, unwind.Answer] // may a pointer lead there?
	held    memo.Table[disasm.Addr, bool]          // does data hold the address?
	slots   memo.Table[slotKey, unwind.Answer]     // does a table hold the function at an offset?
	callers memo.Table[disasm.Addr, callers]
	imports memo.Table[disasm.Addr, importName] // of PLT stubs
}

// keptAnswers bounds a generation of answers: in a batch of captures the same places come
// up again and again, and a search is much work.
const keptAnswers = 4096

// keptSearches bounds a generation of search results, of some 10 KB each.
const keptSearches = 64

// keptTargets bounds a generation of targets, in words.
const keptTargets = 8 * keptAnswers

// bound says how much is remembered.
func (k *memos) bound() {
	for _, bound := range []*int{&k.answers.Bound, &k.reached.Bound, &k.ofCalls.Bound, &k.calls.Bound, &k.pointed.Bound, &k.held.Bound,
		&k.slots.Bound, &k.callers.Bound, &k.imports.Bound} {
		*bound = keptAnswers
	}
	k.searched.Bound = keptSearches
	k.targets.Bound, k.targets.Weigh = keptTargets, targets.kept
}
