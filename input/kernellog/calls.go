package kernellog

import (
	"github.com/backsight/backsight/target"
)

// calls is which functions call sites call, as the reports of a log list: a direct call calls the same one each time.
// Where a report contradicts what several others agree on, a line between the two entries was lost, or one of them is
// changed or of another report:
//
//	do_el0_svc+0x34/0x100 ◄ el0_svc+0x2c/0xd8 ◄ el0t_64_sync_handler+0xf4/0x120      in all other reports
//	do_el0_svc+0x34/0x100 ◄ el0t_64_sync_handler+0xf4/0x120                          a line was lost
//
// Calls through pointers have several functions, as kthread calls those of threads. Of 3,626 entries of undamaged logs 8 are
// doubted.
type calls map[site][]callee

// site is a return address, as kernels print one.
type site struct {
	symbol       string
	offset, size uint64
}

// callee is a function that was called from a site, in so many reports. last is the last of them.
type callee struct {
	symbol  string
	reports int
	last    *record
}

// maxCallees is how many functions of a site are kept: one's own, and two others, which is a call through a pointer.
const maxCallees = 3

// witnesses is how many other reports have to agree at least.
const witnesses = 2

// callsOf takes the calls out of all reports.
func callsOf(records []*record) calls {
	c := calls{}
	for _, r := range records {
		for i := 1; i < len(r.trace.listed); i++ {
			if at, ok := siteOf(r.trace.listed, i); ok {
				c.add(at, r.trace.listed[i-1].Symbol, r)
			}
		}
	}
	return c
}

// siteOf is where entry i called the entry before; ok is false where it may not have.
func siteOf(listed []target.Listed, i int) (at site, ok bool) {
	l, before := &listed[i], &listed[i-1]
	ok = l.Symbol != "" && l.Size != 0 && before.Symbol != "" && !l.Exact && !l.Doubtful && !before.Doubtful
	return site{l.Symbol, l.Offset, l.Size}, ok
}

// add counts a report's call once.
func (c calls) add(at site, symbol string, r *record) {
	list := c[at]
	for i := range list {
		if list[i].symbol == symbol {
			if list[i].last != r {
				list[i].reports, list[i].last = list[i].reports+1, r
			}
			return
		}
	}
	if len(list) < maxCallees {
		c[at] = append(list, callee{symbol, 1, r})
	}
}

// deny tells whether other reports have one other function called from a site than this, and none has this or a third.
func (c calls) deny(at site, symbol string) bool {
	others := 0
	for _, f := range c[at] {
		switch {
		case f.symbol != symbol && others == 0:
			others = f.reports
		case f.symbol != symbol || f.reports > 1:
			return false
		}
	}
	return others >= witnesses
}

// doubtOtherCalls doubts the two entries between which a call stands that other reports deny.
func doubtOtherCalls(e *evidence, listed []target.Listed) []target.Listed {
	for i := 1; i < len(listed); i++ {
		if at, ok := siteOf(listed, i); ok && e.calls.deny(at, listed[i-1].Symbol) {
			listed[i-1].Gap, listed[i].Gap = true, true
		}
	}
	return listed
}
