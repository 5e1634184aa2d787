package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// Consoles lose lines, and two processors print into each other's reports. What is missing cannot
// be had again, but a report of which something is missing shows that: then its chain may lack
// frames, too, and what code does not prove of the chain is a guess.
//
//	x11: ffff8000090f1d78 x10: 0000000000000000 x9 : ffffffffffffffff
//	x5 : ffff00003fd8c858 x4 : 0000000000000000 x3 : 0000000000000000     x8, x7, x6 are missing

// lacksRegister names a register that is missing from the record although the kernel prints its value
// together with values that the record has.
func (r *record) lacksRegister() (name string, ok bool) {
	for _, row := range processorOf(r).together {
		lacking, n := "", 0
		for _, s := range namesIn(row) {
			switch {
			case r.reg(s) != nil:
				n++
			case s != "ra" || !r.stack.old: // Linux 2.4 for MIPS prints $31 alone
				lacking = s
			}
		}
		if n > 0 && lacking != "" {
			return lacking, true
		}
	}
	return "", false
}

// namesIn are the registers of a row: "sp $0-25" are sp, $0, $1 and so on.
func namesIn(row string) (names []string) {
	for _, s := range strings.Fields(row) {
		first, last, run := strings.Cut(s, "-")
		if !run {
			names = append(names, s)
			continue
		}
		prefix := strings.TrimRight(first, "0123456789")
		for i := phrases.Leading(first[len(prefix):], 0); i <= phrases.Leading(last, 0); i++ {
			names = append(names, prefix+strconv.Itoa(i))
		}
	}
	return names
}

// lacksStack tells whether lines of the stack are missing: MIPS prints 40 words and an ellipsis, or all up to the
// end of the page (arch/mips/kernel/traps.c, show_stacktrace).
func lacksStack(r *record) bool {
	printed := uint64(processorOf(r).stackWords)
	if printed == 0 || !r.trace.headed {
		return false
	}
	sp, words := r.reg("$29"), uint64(len(r.stack.words))
	switch {
	case r.stack.more || words == 0:
		return words != printed
	case sp == nil || words > printed:
		return true
	}
	return (sp.value+words*uint64(sp.digits/2))%minPage != 0
}

// missingLine names what is missing from the record.
func missingLine(r *record) (what string, ok bool) {
	if name, ok := r.lacksRegister(); ok {
		return "the one with register " + name, true
	}
	return "those of the stack", lacksStack(r)
}

// beginsSaid and endsSaid say that the log has the rest of a report, or a part.
func beginsSaid(r *record) string {
	if !r.within.begins {
		return ""
	}
	return "the log begins within a report, " + r.title()
}

func endsSaid(r *record) string {
	if !r.within.ends {
		return ""
	}
	return "the log ends within a report, " + r.title()
}

// lossSaid says that a report lacks lines, or has another's; "" where it is whole.
func lossSaid(r *record) string {
	what, lacking := missingLine(r)
	switch {
	case r.isMixed():
		return "two reports are printed into one another, " + r.title()
	case r.trace.lost:
		return "messages within a report were lost, " + r.title()
	case lacking:
		return "lines of a report are missing, " + r.title() + ": " + what
	}
	return ""
}

// tracerSaid says of which function the caller is missing because a tracer of the kernel had put an
// address of its own in the place of the return address, and keeps the original where no report
// prints it: return_to_handler in the link register, or in the chain. "" where none had.
func tracerSaid(r *record) string {
	callee, hook := "", ""
	if lr, pc := r.reg("lr", "ra"), r.reg("pc", "epc"); lr != nil && pc != nil && isTrampoline(lr.at.symbol) {
		callee, hook = pc.at.symbol, lr.at.symbol
	}
	for i := 1; i < len(r.trace.listed) && hook == ""; i++ {
		if l := &r.trace.listed[i]; l.Exact && isTrampoline(l.Symbol) { // x86 doubts what is left over from calls of the tracer
			callee, hook = r.trace.listed[i-1].Symbol, r.trace.listed[i].Symbol
		}
	}
	if callee == "" || hook == "" {
		return ""
	}
	return callee + " returns to a tracer, " + hook + ": the log does not say who called the function"
}
