package kernellog

import (
	"fmt"

	"github.com/backsight/backsight/target"
)

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
