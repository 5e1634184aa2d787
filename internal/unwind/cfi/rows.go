package cfi

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// Rows calls yield for every row of .eh_frame: the rule from lo up to hi, in image
// addresses, functions in order of address, until it returns false. rule is nil
// where a program is damaged or says what a Rule cannot. It is valid during the call
// only, and so are its expressions.
func (*Source) Rows(img *image.Image, yield func(lo, hi uint64, rule *stackwalk.Rule) bool) {
	t := tableOf(img, img.Arch)
	l := &lister{table: t, yield: yield}
	t.eh.entries(func(f *fde) bool {
		l.list(f)
		return !l.stopped
	})
}

// lister executes whole programs, a row at a time.
type lister struct {
	table   *table
	yield   func(lo, hi uint64, rule *stackwalk.Rule) bool
	rule    stackwalk.Rule
	next    uint64 // where the next row begins, relative to the function
	size    uint64
	stopped bool
}

func (l *lister) list(f *fde) {
	var m machine
	m.init(l.table, &l.table.eh.section, f)
	l.next, l.size = 0, f.size
	m.want, m.lister = f.size-1, l
	if m.begin() {
		m.execute(f.code)
	}
	if m.verdict == unwind.Found {
		l.row(&m, f.size)
	}
	if l.next < f.size && !l.stopped {
		l.stopped = !l.yield(f.start+l.next, f.start+f.size, nil)
	}
}

// row ends the row that m has built at loc.
func (l *lister) row(m *machine, loc uint64) {
	if loc = min(loc, l.size); loc <= l.next || l.stopped {
		return
	}
	var rule *stackwalk.Rule
	if restated(m, &l.rule, 0) {
		rule = &l.rule
		rule.Start, rule.Flags = m.start, rule.Flags|stackwalk.StartStated
	}
	l.stopped = !l.yield(m.start+l.next, m.start+loc, rule)
	l.next = loc
}
