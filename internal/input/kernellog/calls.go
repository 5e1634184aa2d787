package kernellog

import (
	"iter"

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

// callee is a function that was called from a site, in so many reports. last is the last of them, and at the callee's entry there.
type callee struct {
	symbol  string
	reports int
	last    *record
	at      int
}

// maxCallees is how many functions of a site are kept: one's own, and two others, which is a call through a pointer.
const maxCallees = 3

// witnesses is how many other reports have to agree at least.
const witnesses = 2

// callsOf takes the calls out of all reports.
func callsOf(records []*record) calls {
	c := calls{}
	for _, r := range records {
		for called, caller := range callsIn(r.trace.listed) {
			c.add(siteOf(&r.trace.listed[caller]), r, called)
		}
	}
	return c
}

// callsIn yields the entries next to one another of which the second called the first, doubted ones left out.
func callsIn(listed []target.Listed) iter.Seq2[int, int] {
	return func(yield func(called, caller int) bool) {
		before := -1
		for i := range listed {
			l := &listed[i]
			if l.Doubtful {
				continue
			}
			if before >= 0 && listed[before].Symbol != "" && l.Symbol != "" && l.Size != 0 && !l.Exact && !yield(before, i) {
				return
			}
			before = i
		}
	}
}

// siteOf is the return address that an entry is.
func siteOf(l *target.Listed) site { return site{l.Symbol, l.Offset, l.Size} }

// add counts a report's call of the function of an entry once.
func (c calls) add(at site, r *record, entry int) {
	list, symbol := c[at], r.trace.listed[entry].Symbol
	for i := range list {
		if list[i].symbol == symbol {
			if list[i].last != r {
				list[i].reports, list[i].last, list[i].at = list[i].reports+1, r, entry
			}
			return
		}
	}
	if len(list) < maxCallees {
		c[at] = append(list, callee{symbol, 1, r, entry})
	}
}

// deny tells whether others have another function called from a site than this, and none has this: one report, in which that
// function led to this, or several, and all the same function.
func (c calls) deny(at site, called *target.Listed) bool {
	leads, agree, others := false, 0, 0
	for i := range c[at] {
		switch f := &c[at][i]; {
		case f.symbol != called.Symbol:
			leads, agree, others = leads || f.leadsTo(called), f.reports, others+1
		case f.reports > 1:
			return false
		}
	}
	return leads || others == 1 && agree >= witnesses
}

// maxLost is how many lines next to one another are looked for that another report has.
const maxLost = 3

// leadsTo tells whether an entry stands further in than the callee's, in the last report.
//
//	__hrtimer_run_queues+0x127 ◄ hrtimer_interrupt+0xfc ◄ __sysvec_apic_timer_interrupt+0x5c
//	__hrtimer_run_queues+0x127 ◄ __sysvec_apic_timer_interrupt+0x5c
func (f *callee) leadsTo(l *target.Listed) bool {
	for i, n := f.at-1, 0; i >= 0 && n < maxLost; i-- {
		if in := &f.last.trace.listed[i]; !in.Doubtful {
			if n++; sameEntry(in, l) {
				return true
			}
		}
	}
	return false
}

// doubtOtherCalls doubts the two entries between which a call stands that other reports deny.
func doubtOtherCalls(e *evidence, listed []target.Listed) []target.Listed {
	for called, caller := range callsIn(listed) {
		if e.calls.deny(siteOf(&listed[caller]), &listed[called]) {
			listed[called].Gap, listed[caller].Gap = true, true
		}
	}
	return listed
}
