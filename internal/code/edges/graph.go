// Package edges tells of calls: where they go, what leads to a function, and what a call leaves behind.
package edges

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/memo"
	"github.com/backsight/backsight/unwind"
)

// Graph implements unwind.CallGraph.
type Graph struct {
	// ranges lists the functions that an image's unwind tables know of; nil: no tables are asked.
	ranges discover.Ranges
}

// New returns the graph of calls. ranges lists the functions that unwind tables know of, in image
// addresses; nil: no tables are asked.
func New(ranges discover.Ranges) *Graph { return &Graph{ranges: ranges} }

// program is what is known of the calls of one image's code.
type program struct {
	*analyses.Image
	memos memos
}

type programKey struct{}

// of returns what is known of an image.
func (g *Graph) of(img *image.Image) *program {
	return img.Memo(programKey{}, func() any {
		p := &program{Image: analyses.Of(img, g.ranges)}
		p.memos.bound()
		return p
	}).(*program)
}

// memos are what was found out of the program, for as long as that is remembered.
type memos struct {
	reached memo.Table[reach, reachable]
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
	k.targets.Bound, k.targets.Weigh = keptTargets, targets.kept
}
