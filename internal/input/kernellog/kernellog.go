// Package kernellog reads what Linux kernels print of a crash, or of any stack: oops, panic,
// BUG, WARNING, lockups, stalls, hung tasks, sysrq's lists of tasks and CPUs, the reports of
// KASAN and UBSAN, from a console, dmesg, the journal, syslog or pstore.
//
//	log ─► lines without prefixes ─► messages, joined ─► scanner: records, facts ─► report: registers, memory, chain
//	                                 heading │ registers │ stack │ chain │ code
//
// Each report is a thread: with the registers, the memory of the stack and the call chain
// that it shows. Formats: arch/*/kernel/{process,traps,stacktrace}.c of Linux,
// Documentation/admin-guide/bug-hunting.rst.
package kernellog

import (
	"context"
	"slices"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/unknown"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// Reader knows the reports of Linux kernels.
func Reader() console.Reader {
	return console.Reader{Name: "Linux kernel", Read: readReport, Owns: owns, Signs: signs, Next: next, Scan: func(log *console.Log, _ *input.Env) { logOf(log) }}
}

type logKey struct{}

// logOf is what there is to know of a log.
func logOf(log *console.Log) *kernelLog {
	return log.Memo(logKey{}, func() any { return newKernelLog(log) }).(*kernelLog)
}

// next is the first line from at on at which a report begins, or what is left of one.
func next(log *console.Log, at, end int) int {
	k := logOf(log)
	for _, list := range [...][]*record{k.records, k.rests} {
		if i := firstFrom(list, at); i < len(list) {
			end = min(end, list[i].from)
		}
	}
	return end
}

// owns tells whether some report says which task of Linux was running. What is left of a report in front of that one, where
// the log begins, may look like one of a microcontroller: registers with nothing else.
func owns(log *console.Log) bool {
	return slices.ContainsFunc(logOf(log).records, func(r *record) bool { return r.process })
}

// readReport is the report that begins at line at, none where nothing of that report can be walked.
func readReport(_ context.Context, log *console.Log, at int, env *input.Env) (*console.Report, int) {
	k := logOf(log)
	i := firstFrom(k.records, at)
	if i == len(k.records) || k.records[i].from != at {
		return nil, k.behindRest(at, i)
	}
	r := k.records[i]
	next := r.to
	for j := i - 1; j >= 0 && j >= i-maxMixed; j-- {
		next = max(next, k.records[j].to)
	}
	if i+1 < len(k.records) {
		next = min(next, k.records[i+1].from)
	}
	var report *console.Report
	if r.unsupported() == "" {
		report = k.report(r, env)
	}
	if report == nil {
		report = k.unknown(r)
	}
	if report == nil && r.what == "" { // maybe not of Linux
		return nil, at + 1
	}
	if report != nil && k.full > 0 && i == len(k.records)-1 {
		report.Issues = append(report.Issues, log.TooMany(k.full))
	}
	return report, max(next, at+1)
}

// unknown is a report of a processor that nobody knows, with the frames as they are listed, or of one that is not supported; nil where
// it may not even be of Linux. A log says so once.
func (k *kernelLog) unknown(r *record) *console.Report {
	if !r.process && r.what == "" && r.unsupported() == "" {
		return nil
	}
	report := new(console.Report)
	if k.nobody == nil {
		k.nobody = unknown.Arch(8)
	}
	if r.unsupported() == "" {
		report = &console.Report{Title: r.title(), Arch: k.nobody, OS: "Linux", Thread: target.Thread{Crashed: r.crash, Listed: r.trace.listed}}
	}
	if r.crash && report.Arch != nil {
		report.Fault = faultOf(r)
	}
	if !k.refused {
		k.refused = true
		text := "the log does not tell the processor of a kernel's report, " + r.title() + ": state it (--arch), or name the kernel (-e)"
		if name := r.unsupported(); name != "" {
			text = console.Refusal(r.title(), name)
		}
		report.Issues = append(report.Issues, target.Issue{Kind: target.IssueCapture, Text: text})
	}
	return report
}

// behindRest is the line to go on with where no report begins, the i-th of which is next: behind what is left of a
// report of which the log lacks what could be walked. x86's user-space registers look like those of a microcontroller.
func (k *kernelLog) behindRest(at, i int) int {
	j := firstFrom(k.rests, at)
	if j == len(k.rests) || k.rests[j].from != at {
		return at + 1
	}
	next := k.rests[j].to
	if i < len(k.records) {
		next = min(next, k.records[i].from)
	}
	return max(next, at+1)
}

// maxMixed is how many reports may be printed at a time, one in the other's lines.
const maxMixed = 64
