// Package matching finds the functions of one build of a program in another one: by names, by what their code refers to, by who
// calls them and whom they call, and by their order.
//
//	OLD                            NEW
//	main    ── name ──────────────► main
//	f(…)    ── "no route to %s" ──► g(…)        the same texts, imports and numbers
//	leaf(…) ── called by f ───────► leaf(…)     what f calls third, and what g calls third
package matching

import (
	"context"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/features"
)

// Build is the functions of an image, by address.
type Build struct {
	Code      *analyses.Image
	Functions []Function
	// Left is how many functions were not looked at, for the image would have cost too much.
	Left  int
	index map[disasm.Addr]int
}

// Function is a function of a build.
type Function struct {
	*features.Function
	At disasm.Addr
	// Name is the symbol's that begins where the function does, "" for none.
	Name string
	// calls are the functions that this one calls, in the order of the code, callers those that call this one, each once.
	calls, callers []int
}

// work limits the instructions of an image that are looked at.
func work(img *image.Image) budget.Budget {
	const floor, perByte = 1 << 26, 64
	return budget.New("instructions", floor, perByte*img.Segments.LoadedBytes())
}

// Of finds the functions of an image, until ctx ends. Stubs that lead to imports are none.
func Of(ctx context.Context, code *analyses.Image) (*Build, error) {
	b := &Build{Code: code, index: map[disasm.Addr]int{}}
	left := work(code.Img)
	starts := code.Entries.Starts()
	for i, key := range starts {
		at := code.Addr(key)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !b.begins(at) {
			continue
		}
		f := code.Flows.Function(at)
		if f == nil {
			continue
		}
		fn := Function{Function: features.Of(code, f), At: at}
		if fn.Steps == 0 {
			continue
		}
		if sym, ok := code.Img.Symbols.At(at.PC); ok && sym.Addr == at.PC {
			fn.Name = sym.Name
		}
		b.index[at] = len(b.Functions)
		b.Functions = append(b.Functions, fn)
		if !left.Draw(fn.Steps) {
			b.Left = len(starts) - i - 1
			break
		}
	}
	b.link()
	return b, nil
}

// begins tells whether a function begins at a place that may be named by data alone: a label in a function, of a jump table,
// begins none.
func (b *Build) begins(at disasm.Addr) bool {
	if _, stub := b.Code.Callees.StubSlot(at); stub || !b.Code.Has(at.PC) {
		return false
	}
	return b.Code.Entries.IsEntry(at) || b.at(at.PC) < 0 && b.Code.Heights.Begins(at)
}

// link makes the graph of calls.
func (b *Build) link() {
	for i := range b.Functions {
		f := &b.Functions[i]
		last := map[int]bool{}
		for _, to := range f.Calls {
			k, ok := b.index[to]
			if !ok || k == i {
				continue
			}
			f.calls = append(f.calls, k)
			if !last[k] {
				last[k] = true
				b.Functions[k].callers = append(b.Functions[k].callers, i)
			}
		}
	}
}
