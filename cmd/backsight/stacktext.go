//go:build !small

package main

import (
	"bufio"
	"cmp"
	"fmt"
	"github.com/backsight/backsight/internal/code/stackdepth"
	"io"
	"slices"

	"github.com/backsight/backsight/internal/typeset"
)

// Bounds of a text: the stacks of which paths are shown, frames of a path, handlers, things that are open.
const (
	shownRoots  = 10
	shownFrames = 40
	shownOpen   = 10
)

// writeStackText writes the deepest path of each stack, what is open, and what else was asked for.
func writeStackText(w io.Writer, r *stackResult) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s: %s, %s, %d through pointers that are not resolved\n", typeset.Text(r.Path),
		plural(len(r.Functions), "function", "functions"), plural(r.Calls, "call", "calls"), r.Pointers)
	if r.Issue != "" {
		fmt.Fprintf(out, "not all functions were analysed: %s\n", r.Issue)
	}
	for i := range r.Roots[:min(shownRoots, len(r.Roots))] {
		writeRoot(out, r, i)
	}
	if n := len(r.Roots) - shownRoots; n > 0 {
		fmt.Fprintf(out, "\nand %s, not as deep: -f json has all\n", plural(n, "more stack", "more stacks"))
	}
	writeOpen(out, r)
	writeLargest(out, r)
	writeGrown(out, r)
	return out.Flush()
}

// writeRoot writes the deepest path of a stack.
func writeRoot(out io.Writer, r *stackResult, i int) {
	x := &r.Roots[i]
	fmt.Fprintf(out, "\n%s %s: %s%d bytes%s\n", x.Kind, short(x.Name), atLeast(x.OpenCount), x.Depth, margin(x))
	for k := range x.Path[:min(shownFrames, len(x.Path))] {
		f := &x.Path[k]
		how := ""
		switch {
		case f.Times > 0:
			how = fmt.Sprintf("  at most %d frames of each function", f.Times)
		case f.How != "" && f.How != "call":
			how = fmt.Sprintf("  by %s at %#x", f.How, f.Site)
		}
		fmt.Fprintf(out, "%8d  %s%s\n", f.Bytes, short(f.Name), how)
	}
	if n := len(x.Path) - shownFrames; n > 0 {
		fmt.Fprintf(out, "          and %s\n", plural(n, "more frame", "more frames"))
	}
	writeInterrupts(out, x)
}

// short is a name as it fits a line.
func short(name string) string {
	const most = 48
	if text := []rune(typeset.Text(name)); len(text) > most {
		return string(text[:most-1]) + "…"
	}
	return typeset.Text(name)
}

// margin says what is left of a stack whose size is known.
func margin(x *stackdepth.Root) string {
	switch left := int64(x.Stack) - x.Depth; {
	case x.Stack == 0:
		return ""
	case left < 0:
		return fmt.Sprintf(" of %d (%s): %d too many", x.Stack, typeset.Text(x.From), -left)
	default:
		return fmt.Sprintf(" of %d (%s): %d left", x.Stack, typeset.Text(x.From), left)
	}
}

func atLeast(open int) string {
	if open > 0 {
		return "at least "
	}
	return ""
}

func writeInterrupts(out io.Writer, x *stackdepth.Root) {
	if x.Switched > 0 {
		fmt.Fprintf(out, "%8d  what an interrupt and the switch to another task leave\n", x.Switched)
	}
	if len(x.Interrupts) == 0 {
		return
	}
	fmt.Fprintln(out, "          interrupted by, one in the other, as far as priorities are not known:")
	for k := range x.Interrupts {
		in := &x.Interrupts[k]
		level := ""
		if in.Priority >= 0 {
			level = fmt.Sprintf("  priority %d", in.Priority)
		}
		fmt.Fprintf(out, "%8d  %s%s\n", in.Bytes, short(in.Name), level)
	}
}

// writeOpen writes what is open below the roots, and how to close it.
func writeOpen(out io.Writer, r *stackResult) {
	list := r.Below
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(out, "\nopen, so that depths are \"at least\" (%d):\n", len(list))
	for _, i := range list[:min(shownOpen, len(list))] {
		o := &r.Open[i]
		fmt.Fprintf(out, "  %s", short(o.Function))
		if o.At != 0 {
			fmt.Fprintf(out, " at %#x", o.At)
		}
		fmt.Fprintf(out, ": %s\n      %s\n", typeset.Text(o.Why), typeset.Text(o.Close))
	}
	if n := len(list) - shownOpen; n > 0 {
		fmt.Fprintf(out, "  and %d more: -f json has all\n", n)
	}
}

// writeLargest writes the functions that take most by themselves.
func writeLargest(out io.Writer, r *stackResult) {
	if r.Top == 0 {
		return
	}
	list := slices.Clone(r.Functions)
	slices.SortStableFunc(list, func(a, b stackdepth.Function) int { return cmp.Compare(b.Own, a.Own) })
	fmt.Fprintf(out, "\n     own   depth  function\n")
	for i := range list[:min(r.Top, len(list))] {
		f := &list[i]
		mark := ""
		if f.Open > 0 {
			mark = "  and more"
		}
		fmt.Fprintf(out, "%8d%8d  %s%s\n", f.Own, f.Depth, short(f.Name), mark)
	}
}

// writeGrown writes the functions that take more than they did, those first that grew most.
func writeGrown(out io.Writer, r *stackResult) {
	if r.Old == nil {
		return
	}
	list := r.grown()
	fmt.Fprintf(out, "\n%s more stack than before\n", plural(len(list), "function takes", "functions take"))
	for i := range list {
		g := &list[i]
		fmt.Fprintf(out, "%+8d  %s: own %d, was %d; depth %d, was %d\n", g.Own-g.WasOwn, short(g.Name), g.Own, g.WasOwn, g.Depth, g.WasDepth)
	}
}

// plural is a number of things.
func plural(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}
