// Package lint finds where the unwind tables of an image contradict its code.
//
//	function of the table ─► instruction ─► rule of the table ─┐
//	                                        what the code says ┴─► place ─► findings
//
// Code speaks in three ways. SP's own arithmetic over neighbouring instructions (pointer.go) and
// along the ways to a return (anchored.go) says where the CFA is, whatever the rest of the function
// does; code analysis says a whole rule. Tables are right nearly everywhere, and the code of a
// landing pad or of a function's cold part says little by itself: a rule of code analysis speaks
// against a table only where the function's entry is known.
package lint

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/mapped"
	"github.com/backsight/backsight/internal/pdata"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/compact"
	"github.com/backsight/backsight/internal/unwind/ehabi"
	"github.com/backsight/backsight/internal/unwind/seh"
	"github.com/backsight/backsight/unwind"
)

// Evidence is what speaks against a table.
type Evidence int

// The kinds of evidence.
const (
	// Step: an instruction moves SP, and the table's CFA does not move with it. The row before or
	// the row behind the instruction is wrong.
	Step Evidence = iota
	// Return: on the ways from the place to a return, which finds the return address at SP, SP
	// moves by another amount.
	Return
	// Analysis: what the function does to SP and to the registers, from its entry to the place
	// or from there to its returns.
	Analysis
)

func (e Evidence) String() string { return [...]string{"sp", "return", "analysis"}[e] }

// Finding is a stretch of code for which a table is wrong.
type Finding struct {
	// Lo and Hi bound the stretch, in image addresses; Function is where the table's function
	// begins. Rules hold as in tables.Row: at the first byte of an instruction before it, at the
	// other bytes of a call while it is running.
	Lo, Hi, Function uint64
	// Table and Code are the rules of both, as stackwalk.Rule.Format writes them.
	Table, Code string
	Evidence    Evidence
	// Certain: two derivations agree, or SP's arithmetic leads to a return. Else one derivation
	// from a known entry, or a row that stays where SP moves, says so.
	Certain bool
}

// Report is what came of checking an image.
type Report struct {
	// Table is the method of the table that was checked: cfi, ehabi or compact.
	Table unwind.Method
	// Functions and Places count what was compared; Open the places about which the code says
	// nothing, Unreadable those whose row is malformed.
	Functions, Places, Open, Unreadable int
	// Findings are in order of address.
	Findings []Finding
	// Issue says what was left out, "" where nothing was.
	Issue string
}

// Function is a range of the table, in image addresses.
type Function struct{ Lo, Hi uint64 }

// Check compares the tables of an image with its code, on all cores. progress, if not nil, is told how
// many functions are done. nil: the image has no table of unwind rules. The error is that of ctx or,
// where the image's file has shrunk, a *mapped.Fault.
func Check(ctx context.Context, img *image.Image, progress func(done, all int)) (*Report, error) {
	reference, fs := Functions(img)
	if len(fs) == 0 || img.Arch.Decoder == nil {
		return nil, ctx.Err()
	}
	q := queue{ctx: ctx, all: divided(img, code.New(entries(reference)), fs), progress: progress, budget: bound(img)}
	r := &Report{Table: reference.Method()}
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			w := worker{img: img, code: code.New(entries(reference)), reference: reference, sweep: Sweep{Image: img}}
			q.done(r, &w, mapped.Guard(func() { w.all(&q) }))
		})
	}
	wg.Wait()
	if err := q.budget.Err(); err != nil {
		r.Issue = err.Error()
	}
	slices.SortFunc(r.Findings, func(a, b Finding) int { return cmp.Or(cmp.Compare(a.Lo, b.Lo), cmp.Compare(a.Function, b.Function)) })
	return r, cmp.Or(q.failed, ctx.Err())
}

// divided takes ranges apart where functions certainly begin: Dart and LuaJIT describe all of their code at once.
func divided(img *image.Image, analysis *code.Source, fs []Function) (parts []Function) {
	var starts []uint64
	analysis.Entries(img, func(addr uint64, _ cpu.Mode) bool {
		starts = append(starts, addr)
		return true
	})
	for _, f := range fs {
		i, _ := slices.BinarySearch(starts, f.Lo+1)
		for ; i < len(starts) && starts[i] < f.Hi; i++ {
			parts = append(parts, Function{f.Lo, starts[i]})
			f.Lo = starts[i]
		}
		parts = append(parts, f)
	}
	return parts
}

// all compares functions until there are no more.
func (w *worker) all(q *queue) {
	for fs := q.take(); len(fs) > 0; fs = q.take() {
		for _, f := range fs {
			w.function(f)
		}
	}
}

func (r *Report) merge(o *Report) {
	r.Functions += o.Functions
	r.Places += o.Places
	r.Open += o.Open
	r.Unreadable += o.Unreadable
	r.Findings = append(r.Findings, o.Findings...)
}

// entries lists the ranges of call frame information that are whole functions, for code analysis: their
// first row is that of an entry. Nothing else of a table reaches it.
func entries(reference stackwalk.RuleSource) *discover.Tables {
	list := cfi.New().FunctionRanges
	switch reference.(type) {
	case *cfi.Source:
	case seh.Source:
		list = pdata.FunctionRanges
	default:
		return nil
	}
	return &discover.Tables{Functions: func(img *image.Image, yield func(lo, hi uint64) bool) {
		list(img, func(lo, hi uint64) bool { return !entered(reference, img, lo) || yield(lo, hi) })
	}}
}

// entered tells whether the row at an address is that of a function's entry.
func entered(reference stackwalk.RuleSource, img *image.Image, at uint64) bool {
	var first stackwalk.Rule
	q := stackwalk.Query{Image: img, Arch: img.Arch, PC: at, Resume: at, Exact: true}
	return reference.Rule(&q, &first) == unwind.Found && first.AtEntry(img.Arch)
}

// Functions lists the ranges of functions that an image's unwind tables describe, in the tables' order, and the source that
// reads the tables: the first of the kinds of tables that has any.
func Functions(img *image.Image) (reference stackwalk.RuleSource, fs []Function) {
	collect := func(lo, hi uint64) bool {
		fs = append(fs, Function{lo, hi})
		return true
	}
	for _, kind := range [...]struct {
		source stackwalk.RuleSource
		list   func()
	}{
		{seh.Source{}, func() { pdata.Each(img, func(f pdata.Function) bool { return collect(f.Lo, f.Hi) }) }},
		{compact.Source{}, func() {
			compact.Source{}.Rows(img, func(lo, hi uint64, _ *stackwalk.Rule) bool { return collect(lo, hi) })
		}},
		{cfi.New(), func() { cfi.New().FunctionRanges(img, collect) }},
		{ehabi.Source{}, func() { ehabi.Source{}.FunctionRanges(img, collect) }},
	} {
		reference = kind.source
		if kind.list(); len(fs) > 0 {
			break
		}
	}
	return reference, fs
}
