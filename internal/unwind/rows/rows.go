// Package rows lists the functions of an image and the rule at each instruction, for tables
// that other programs read.
//
//	compiled table ─► rows ─► cut at the starts of functions ─► tables.Program
//	gaps of the table, and rules that the table cannot hold ─► asked, instruction by instruction
package rows

import (
	"cmp"
	"context"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind"
)

// Source is a source of rules that a table is compiled from.
type Source struct {
	Name string
	stackwalk.RuleSource
	table.Part
}

// List lists the rules of an image, each place's by the first of the sources that has one.
// code knows starts of functions otherwise than by rules; symbols are looked at in any case. The error is that of ctx, which is asked once for each
// place where code has to be analysed.
func List(ctx context.Context, img *image.Image, code Code, sources ...Source) (*tables.Program, error) {
	s := newStarts(img)
	parts := make([]table.Part, len(sources))
	for i := range sources {
		parts[i] = s.noting(sources[i].Part)
	}
	t := table.Build(img, parts...)
	s.known(code.Entries)
	l := lister{ctx: ctx, img: img, sources: sources, out: &tables.Program{Image: img},
		numbers: make(map[string]int), moded: modedStarts(img, code), jumps: make(map[uint64]cpu.Mode)}
	l.ask.budget, l.ask.code, l.starts = asked(img), img.Code(), s.sorted()
	l.table(t)
	l.signals(code.Signals)
	l.functions()
	return l.out, ctx.Err()
}

// span: from lo up to hi a rule holds, in code of a mode.
type span struct {
	lo, hi uint64
	rule   int
	mode   cpu.Mode
}

type lister struct {
	ctx     context.Context
	img     *image.Image
	sources []Source
	ask     asker
	numbers map[string]int // of rules, by all that they say
	starts  []start
	spans   []span
	mode    cpu.Mode // of the last row that states one
	moded   []moded  // beginnings of functions that may be of either mode
	reached bool     // control comes to the code at hand from the last row, or its function begins in its mode
	denial  denial
	jumps   map[uint64]cpu.Mode // where jumps of the code before lead to, one at most for each of its instructions
	scratch stackwalk.Rule
	out     *tables.Program
}

// table takes the rows of a compiled table, and asks for what it lacks.
func (l *lister) table(t *table.Table) {
	at := uint64(0) // up to there all is listed
	t.Each(func(lo, hi uint64, v unwind.Verdict, row *table.Row) bool {
		if v != unwind.Found {
			return true
		}
		if m, ok := row.Mode(); ok {
			l.mode = m
		}
		l.gap(at, lo)
		at = hi
		row.Rule.Unpack(l.img.Arch, &l.scratch)
		l.scratch.Flags |= row.Flags
		l.add(span{lo, hi, l.number(&l.scratch, row.Method.String()), l.mode})
		return l.ctx.Err() == nil
	})
	l.gap(at, ^uint64(0))
}

// add appends a span, or makes the last one longer.
func (l *lister) add(s span) {
	if n := len(l.spans); n > 0 && l.spans[n-1].hi == s.lo && l.spans[n-1].rule == s.rule && l.spans[n-1].mode == s.mode {
		l.spans[n-1].hi = s.hi
		return
	}
	l.spans = append(l.spans, s)
}

// said are the flags of a rule that tables can say.
const said = stackwalk.SignalFrame | stackwalk.SignedRA

// number interns a rule, in the form in which compiled tables have it where they can.
func (l *lister) number(r *stackwalk.Rule, source string) int {
	flags := r.Flags & said
	if short, ok := packed.Of(l.img.Arch, r); ok {
		short.Unpack(l.img.Arch, r)
	}
	l.ask.key = appendKey(l.ask.key[:0], r, flags, source)
	if n, ok := l.numbers[string(l.ask.key)]; ok {
		return n
	}
	n := len(l.out.Rules)
	l.numbers[string(l.ask.key)] = n
	own := tables.Rule{CFA: owned(r.CFA), RA: owned(r.RA), Flags: flags, Source: source}
	for i := range r.N {
		own.Regs = append(own.Regs, owned(r.Regs[i]))
	}
	slices.SortFunc(own.Regs, func(a, b stackwalk.RegRule) int { return cmp.Compare(a.Reg, b.Reg) })
	l.out.Rules = append(l.out.Rules, own)
	return n
}

// owned is a register's rule with an expression of its own.
func owned(r stackwalk.RegRule) stackwalk.RegRule {
	if r.Kind == stackwalk.Expression || r.Kind == stackwalk.ValExpression {
		r.Expr = slices.Clone(r.Expr)
	} else {
		r.Expr = nil
	}
	return r
}

// functions cuts the spans where functions begin, and where the mode changes.
func (l *lister) functions() {
	for i := 0; i < len(l.spans); {
		s := l.spans[i]
		end := next(l.starts, s.lo)
		f := tables.Function{Start: s.lo, Mode: s.mode}
		for i < len(l.spans) && l.spans[i].lo < end && l.spans[i].mode == f.Mode {
			i = l.row(&f, i, end)
		}
		if sym, ok := l.img.Symbols.At(f.Start); ok && sym.Addr == f.Start {
			f.Name = sym.Name
		}
		l.out.Functions = append(l.out.Functions, f)
	}
}

// row adds what a span says of a function that ends before end, and returns the number of the
// span that is next.
func (l *lister) row(f *tables.Function, i int, end uint64) int {
	s := &l.spans[i]
	if f.End != 0 && f.End < s.lo {
		f.Rows = append(f.Rows, tables.Row{Addr: f.End, Rule: tables.None})
	}
	f.Rows = append(f.Rows, tables.Row{Addr: s.lo, Rule: s.rule})
	if s.hi > end {
		f.End, s.lo = end, end
		return i
	}
	f.End = s.hi
	return i + 1
}
