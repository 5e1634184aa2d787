package kernellog

import (
	"slices"
	"strings"

	"github.com/backsight/backsight/target"
)

// The first line of a warning says where the warning was raised, which the chain may lack: its line was lost, or
// the chain ends in a tracer's trampoline before it comes there.
//
//	WARNING: CPU: 0 PID: 96 at toy.c:59 warn_c+0x4c/0x60 [toy]
//	[<81b9d7c4>] warn_slowpath_fmt+0xb8/0xd8                        functions that print warnings
//	                                                                [<c00a5424>] warn_c+0x50/0x64 [toy] was lost
//	[<c00a54a0>] warn_b+0x3c/0x54 [toy]

// withWarned is a chain with the place where the warning was raised.
func withWarned(listed []target.Listed, r *record) []target.Listed {
	if r.at.symbol == "" || len(listed) == 0 || slices.ContainsFunc(listed, func(l target.Listed) bool { return samePlace(&l, &r.at) }) {
		return listed
	}
	l := r.at.listed()
	for i := range listed {
		if printsWarnings(listed[i].Symbol) && (i+1 == len(listed) || !printsWarnings(listed[i+1].Symbol)) {
			if i+1 < len(listed) && completes(&r.at, &listed[i+1]) {
				return listed
			}
			return slices.Insert(listed, i+1, l)
		}
	}
	last := listed[len(listed)-1].Symbol
	if l.Gap = true; (isTrampoline(last) || printsStacks(last)) && !r.whole() {
		return append(listed, l)
	}
	return listed
}

// printsStacks tells whether a function is one by which kernels print stacks (lib/dump_stack.c). Where a chain ends there, lines
// were lost.
func printsStacks(symbol string) bool {
	return symbol == "show_stack" || symbol == "dump_stack" || strings.HasPrefix(symbol, "dump_stack_lvl")
}

// printsWarnings tells whether a function is one that WARN calls (kernel/panic.c).
func printsWarnings(symbol string) bool {
	return symbol == "__warn" || strings.HasPrefix(symbol, "warn_slowpath_")
}

// trapsToWarn tells whether the record is of a warning that a trap of x86 raised, or of a crash that shows its PC behind
// the chain only: the PC was there.
func trapsToWarn(r *record) bool {
	m, _ := machineOf(r)
	called := slices.ContainsFunc(r.trace.listed, func(l target.Listed) bool { return printsWarnings(l.Symbol) && !l.Doubtful })
	return r.at.symbol != "" && (m.name == "x86_64" || m.name == "i386" || r.trace.repeated) && !called
}

// doubtThreadStart doubts a chain in which a module's function begins a thread: what begins threads is in the
// kernel, for kernel_thread is not exported (kernel/fork.c). The line of kthread was lost then.
//
//	kth_fn+0x14/0x18 [toy]
//	ret_from_fork+0x10/0x20
func doubtThreadStart(listed []target.Listed) {
	inner := -1 // the last entry that is not doubted
	for i := range listed {
		l := &listed[i]
		if l.Doubtful {
			continue
		}
		if inner >= 0 && listed[inner].Module != "" && (strings.HasPrefix(l.Symbol, "ret_from_fork") || strings.HasPrefix(l.Symbol, "ret_from_kernel_thread")) {
			l.Gap = true
		}
		inner = i
	}
}
