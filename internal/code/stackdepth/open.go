package stackdepth

import (
	"fmt"

	"github.com/backsight/backsight/internal/code/stackuse"
)

// hex is an address as users write it.
func hex(v uint64) string { return fmt.Sprintf("%#x", v) }

// Open is something that is not known of a program, so that its stacks may be deeper than is counted.
type Open struct {
	Kind Kind
	// Function is the name of the function that has it; of an import, its own.
	Function string
	// At is where: of a call, the call.
	At uint64
	// Why says what is not known, Close the line of annotations that closes it.
	Why, Close string
}

// Kind is a kind of Open.
type Kind uint8

const (
	// UnknownCall: nothing tells where a call through a pointer goes.
	UnknownCall Kind = iota
	// Import: a function of another image.
	Import
	// Recursion without a bound.
	Recursion
	// PossibleRecursion: some pointer may lead back to the caller.
	PossibleRecursion
	// OwnFrame: a function's own stack is not bounded, or part of its code was not seen.
	OwnFrame
	// NotAnalysed: the work for the image ended before.
	NotAnalysed
)

var kinds = [...]string{"call", "import", "recursion", "possible recursion", "frame", "not analysed"}

func (k Kind) String() string { return kinds[k] }

// addOpen notes something open and returns its number.
func (g *graph) addOpen(o Open) int {
	g.opens = append(g.opens, o)
	return len(g.opens) - 1
}

// openFrames notes what is not known of functions' own stacks.
func (g *graph) openFrames() {
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.bound >= 0 {
			continue
		}
		for _, d := range n.use.Doubts {
			bounded := d.Why == stackuse.Dynamic || d.Why == stackuse.Loop || d.Why == stackuse.OtherStack
			if bounded && n.extra > 0 {
				continue
			}
			o := Open{Kind: OwnFrame, At: d.At, Why: d.Why.String()}
			if bounded {
				o.Close = "dynamic " + n.name + " BYTES"
			}
			g.open(i, o)
		}
	}
}
