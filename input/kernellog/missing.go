package kernellog

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/backsight/backsight/target"
)

// Consoles lose lines, and two processors print into each other's reports. What is missing cannot
// be had again, but a report of which something is missing shows that: then its chain may lack
// frames, too, and what code does not prove of the chain is a guess.
//
//	x11: ffff8000090f1d78 x10: 0000000000000000 x9 : ffffffffffffffff
//	x5 : ffff00003fd8c858 x4 : 0000000000000000 x3 : 0000000000000000     x8, x7, x6 are missing

// printedTogether are registers of which a processor's reports print all or none: those with the names, and those
// numbered lo to hi behind a prefix.
var printedTogether = [...]struct {
	machine, names, prefix string
	lo, hi                 int
}{
	{"aarch64", "pc lr sp", "", 1, 0}, {"aarch64", "", "x", 0, 29},
	{"arm", "pc lr sp", "", 1, 0}, {"arm", "", "r", 0, 10},
	{"x86_64", "rip rsp rax rbx rcx rdx rsi rdi rbp", "", 1, 0}, {"x86_64", "", "r", 10, 15},
	{"mips", "$28 $29 $30 $31 epc ra", "$", 0, 25}, {"mips64", "$28 $29 $30 $31 epc ra", "$", 0, 25},
	{"riscv64", "epc ra sp gp tp", "", 1, 0}, {"riscv64", "", "a", 0, 7}, {"riscv64", "", "s", 2, 11},
	{"riscv32", "epc ra sp gp tp", "", 1, 0}, {"riscv32", "", "a", 0, 7}, {"riscv32", "", "s", 2, 11},
}

// lacksRegister names a register that is missing from the record although the kernel prints its value
// together with values that the record has.
func (r *record) lacksRegister() (name string, ok bool) {
	m, _ := machineOf(r)
	for _, t := range printedTogether {
		if t.machine != m.name {
			continue
		}
		names := strings.Fields(t.names)
		for i := t.lo; i <= t.hi; i++ {
			names = append(names, t.prefix+strconv.Itoa(i))
		}
		lacking, n := "", 0
		for _, s := range names {
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

// lacksStack tells whether lines of the stack are missing: MIPS prints 40 words and an ellipsis, or all up to the
// end of the page (arch/mips/kernel/traps.c, show_stacktrace).
func lacksStack(r *record) bool {
	m, _ := machineOf(r)
	if m.name != "mips" && m.name != "mips64" || !r.trace.headed {
		return false
	}
	const printed, page = 40, 4096
	sp, words := r.reg("$29"), uint64(len(r.stack.words))
	switch {
	case r.stack.more || words == 0:
		return words != printed
	case sp == nil || words > printed:
		return true
	}
	return (sp.value+words*uint64(sp.digits/2))%page != 0
}

// missingLine names what is missing from the record.
func missingLine(r *record) (what string, ok bool) {
	if name, ok := r.lacksRegister(); ok {
		return "the one with register " + name, true
	}
	return "those of the stack", lacksStack(r)
}

// lossIssue says that a report lacks lines, or has another's; ok is false where it is whole.
func (r *record) lossIssue() (issue target.Issue, ok bool) {
	what, lacking := missingLine(r)
	switch {
	case r.isMixed():
		return target.Issue{Kind: target.IssueCapture, Text: "two reports are printed into one another, " + r.title()}, true
	case r.trace.lost:
		return target.Issue{Kind: target.IssueCapture, Text: "messages within a report were lost, " + r.title()}, true
	case lacking:
		return target.Issue{Kind: target.IssueCapture, Text: "lines of a report are missing, " + r.title() + ": " + what}, true
	}
	return issue, false
}

// tracedIssue says of which function the caller is missing because a tracer of the kernel had put an
// address of its own in the place of the return address, and keeps the original where no report
// prints it: return_to_handler in the link register, or in the chain. ok is false where none had.
func (r *record) tracedIssue() (issue target.Issue, ok bool) {
	callee, hook := "", ""
	if lr, pc := r.reg("lr", "ra"), r.reg("pc", "epc"); lr != nil && pc != nil && isTrampoline(lr.at.symbol) {
		callee, hook = pc.at.symbol, lr.at.symbol
	}
	for i := 1; i < len(r.trace.listed) && hook == ""; i++ {
		if l := &r.trace.listed[i]; l.Exact && isTrampoline(l.Symbol) { // x86 doubts what is left over from calls of the tracer
			callee, hook = r.trace.listed[i-1].Symbol, r.trace.listed[i].Symbol
		}
	}
	text := fmt.Sprintf("%s returns to a tracer, %s: the log does not say who called the function", callee, hook)
	return target.Issue{Kind: target.IssueCapture, Text: text}, callee != "" && hook != ""
}
