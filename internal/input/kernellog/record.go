package kernellog

import (
	"cmp"
	"strings"

	"github.com/backsight/backsight/internal/input/console"
)

// record is a report as the lines of the log have it.
type record struct {
	heading
	lastLine
	from, to int // lines: the first, and the one behind the last
	fault    fault
	regs     []register
	stack    stack
	trace    trace
	work     place // the function that the task runs for a workqueue; no symbol: the report names none
	code     code
	hasCode  bool
	within   within
	foreign  string // the processor, where none is known that prints so
	// of is the report in which the record's stack, a kept one, was shown.
	of *record
	// mixed: a register has two values, two processes are named, or the record began within another.
	mixed bool
}

// lastLine is what the lines before tell of the next.
type lastLine struct {
	// silent counts the lines since the last that belonged to the report.
	silent int
	// entry: the line before was an entry of the chain; time is that of the last entry, "" where none had one.
	entry bool
	time  string
	// entries is the number that a tracer's next entry has.
	entries int
}

// ordered compares an entry of the chain with the entry before. A chain is printed in order, in lines that all have a time or
// all have none: where the time goes back, lines of two chains, or changed places; what has no time is a piece of a line, or
// was printed by something else.
//
//	[   12.345681]  mid_a+0x10/0x20
//	[   12.345680]  mid_b+0x10/0x20
func (r *record) ordered(l *console.Line) {
	switch t := &r.trace; {
	case l.Time == "" && r.time != "" && l.Bare && len(t.listed) > 0:
		t.listed[len(t.listed)-1].Gap, t.missing = true, true
	case l.IsBefore(r.time):
		r.mixed = true
	}
	r.time = cmp.Or(l.Time, r.time)
}

// torn marks that a line was read which was an entry before a console changed a letter of the line, or broke that in two:
//
//	[   12.345681]  mid_b+0x10/0xm0
//	56] mid_b+0x10/0x20
func (r *record) torn(text string) {
	if r.trace.open && len(r.trace.listed) > 0 && (strings.Contains(text, "+0x") || strings.Contains(text, "/0x")) {
		r.trace.missing = true
	}
}

// within tells that the log begins within a report's chain, or ends before the chain does.
type within struct{ begins, ends bool }

// maxSilence is how many lines of something else may stand within a report.
const maxSilence = 48

// whole tells whether the chain goes down to the outermost frame.
func (r *record) whole() bool {
	for i := range r.trace.listed {
		if r.trace.listed[i].Outermost {
			return true
		}
	}
	return false
}

// empty tells whether the record has nothing to unwind.
func (r *record) empty() bool { return len(r.regs) == 0 && len(r.trace.listed) == 0 }

// walkable tells whether the record has a PC or a chain.
func walkable(r *record) bool {
	return len(r.trace.listed) > 0 || pcOf(r) != nil
}

// mayServeUser tells whether a record may be of a task that user space called: neither of an idle one nor of a worker.
func mayServeUser(r *record) bool { return r.pid != 0 && r.work.symbol == "" }

// head takes what a message says of the report.
func (r *record) head(h *heading) {
	r.add(h)
	if !r.fault.known {
		r.fault = faultIn(h.says)
	}
}

// loses marks where messages of the record were lost: entries that follow may have others before
// them, and it is not known where further words of the stack belong.
func (r *record) loses() {
	r.trace.missing, r.trace.lost, r.stack.short, r.stack.lacks = true, true, true, 0
}

// reached counts line i as the report's.
func (r *record) reached(i int) { r.to, r.silent = i+1, 0 }

// maxRegisters bounds the registers of a report: RISC-V and arm64 have some forty.
const maxRegisters = 80

// setRegister adds a register; of one that is printed twice, as "PC is at leaf+0x14/0x20" and
// "pc : [<bf000014>]", the value and the place.
func (r *record) setRegister(reg *register) {
	old := r.reg(reg.name)
	if old == nil {
		r.regs = append(r.regs, *reg)
		return
	}
	r.mixed = r.mixed || old.known && reg.known && old.value != reg.value || old.at.contradicts(&reg.at)
	if !old.known {
		old.value, old.known, old.digits = reg.value, reg.known, reg.digits
	}
	if old.at.symbol == "" {
		old.at = reg.at
	}
	old.said = old.said && reg.said
}

// reg is the register of a name, nil where the report has none.
func (r *record) reg(names ...string) *register {
	for i := range r.regs {
		for _, n := range names {
			if r.regs[i].name == n {
				return &r.regs[i]
			}
		}
	}
	return nil
}

// pcOf is the register that says where the processor stood, nil where the report has none.
func pcOf(r *record) *register { return r.reg("pc", "epc", "rip", "eip") }
