//go:build !small

package main

import (
	"fmt"
	"github.com/backsight/backsight/internal/code/stackdepth"
	"io"

	"github.com/backsight/backsight/internal/display"
)

// shownTrees is how many stacks a page has.
const shownTrees = 40

// writeStackPage writes a web page with a chart of the calls below each root.
func writeStackPage(w io.Writer, r *stackResult) error {
	var roots []display.Block
	for i := range r.Roots[:min(shownTrees, len(r.Roots))] {
		x := &r.Roots[i]
		if b, ok := r.Tree.Of(x.At); ok {
			block := blockOf(&b)
			block.Name = fmt.Sprintf("%s %s: %s%d bytes%s", x.Kind, x.Name, atLeast(x.OpenCount), x.Depth, margin(x))
			roots = append(roots, block)
		}
	}
	facts := []string{plural(len(r.Functions), "function", "functions"), plural(r.Calls, "call", "calls"), fmt.Sprintf("%d open", len(r.Below)),
		"as wide as the stack from there on, the deepest first"}
	_, err := w.Write(display.AppendIcicle(nil, "Stacks of "+r.Path, facts, roots))
	return err
}

func blockOf(b *stackdepth.Branch) display.Block {
	out := display.Block{Name: fmt.Sprintf("%s %d", b.Name, b.Depth), Size: b.Depth, Own: b.Own, Doubtful: b.Open,
		About: fmt.Sprintf("%s: %d bytes from here on, %d by itself", b.Name, b.Depth, b.Own)}
	for i := range b.Below {
		out.Below = append(out.Below, blockOf(&b.Below[i]))
	}
	return out
}
