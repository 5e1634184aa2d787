package kernellog

import (
	"strings"

	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/phrases"
)

// tracers print chains that are no report of a crash: the deepest stack so far (kernel/trace/trace_stack.c), where an event
// was (kernel/trace/trace_output.c), and the hypervisor's part below a panic of KVM (arch/arm64/kvm/stacktrace.c).
//
//	        Depth    Size   Location    (25 entries)
//	        -----    ----   --------
//	  0)     4088     136   check_new_pages+0x8/0x110
//
//	          <idle>-0       [000] d.h1.    12.345679: <stack trace>
//	 => ttwu_do_wakeup+0x10/0x1a0
//
//	kvm [432]: nVHE call trace:
//	kvm [432]:  [<ffff80000903c2ac>] __kvm_nvhe_hyp_panic+0xac/0xf8
//	kvm [432]: ---[ end nVHE call trace ]---
//
// So is what reading /proc/PID/stack shows (fs/proc/base.c, proc_pid_stack), whose lines alone begin so since Linux 4.15:
//
//	==> /proc/101/stack <==
//	[<0>] do_wait+0x160/0x2f0
//
// The sizes of the first form are left: arm64 saves a return address above what the function keeps on the stack, and each size
// is that of the row before. The function's code tells the size.
func tracerOf(text string) (what string) {
	switch {
	case strings.HasPrefix(text, "Depth ") && strings.Contains(text, " Size ") && strings.Contains(text, " Location "):
		return "stack tracer"
	case strings.HasSuffix(text, ": <stack trace>"):
		return "trace event"
	case strings.HasSuffix(text, "]: nVHE call trace:"):
		return "nVHE"
	case strings.HasPrefix(text, procStack):
		return "task"
	}
	return ""
}

// procStack is what lines of /proc/PID/stack begin with.
const procStack = "[<0>] "

// tracerEntry is an entry of such a chain without what stands before, and its number where entries have one.
func tracerEntry(text string) (entry string, number int) {
	for _, mark := range [...]string{"=> ", procStack} {
		if rest, ok := strings.CutPrefix(text, mark); ok {
			return strings.TrimSpace(rest), -1
		}
	}
	if rest, ok := strings.CutPrefix(text, "kvm ["); ok {
		_, rest, _ = strings.Cut(rest, "]: ")
		return strings.TrimSpace(rest), -1
	}
	if number, rest, ok := strings.Cut(text, ") "); ok && isDecimal([]string{number}) {
		depth, rest := cutWord(strings.TrimLeft(rest, " "))
		size, rest := cutWord(strings.TrimLeft(rest, " "))
		if isDecimal([]string{depth, size}) {
			return strings.TrimSpace(rest), phrases.Leading(number, -1)
		}
	}
	return text, -1
}

// traced reads a line of a tracer's chain, or its heading; false for other lines.
func (s *scanner) traced(i int, l *console.Line) bool {
	r := s.open[l.Caller]
	listed, proc := r != nil && r.tracer, strings.HasPrefix(l.Text, procStack)
	if what := tracerOf(l.Text); what != "" && !(proc && listed && r.what == what) {
		if !listed {
			s.under = r
		}
		r, listed = s.begin(i, l.Caller), true
		r.what, r.says, r.tracer = what, l.Text, true
		r.trace.open, r.trace.headed = true, true
		if !proc { // the line is a heading
			return true
		}
		r.pid = processOf(s.before)
	}
	if !listed {
		return false
	}
	switch text, number := tracerEntry(l.Text); {
	case strings.HasPrefix(text, "-----"): // below the heading
	case text != l.Text && r.takeNumbered(text, number):
		r.reached(i)
	default:
		if delete(s.open, l.Caller); s.under != nil { // nVHE's stands within the report of a panic
			s.open[l.Caller] = s.under
			s.under.reached(i)
		}
		s.under = nil
		return strings.HasPrefix(text, "---[ end nVHE ")
	}
	return true
}

// takeNumbered reads a tracer's entry. Entries are numbered from 0 on: where the number is larger, lines were lost, where it is
// less, their order was.
func (r *record) takeNumbered(text string, number int) bool {
	if number >= 0 {
		r.trace.missing = r.trace.missing || number > r.entries
		r.mixed = r.mixed || number < r.entries
		r.entries = number + 1
	}
	return r.trace.take(text)
}

// processOf is the process whose file a message names, as "==> /proc/101/stack <==", −1 for none.
func processOf(text string) int {
	_, rest, _ := strings.Cut(text, "/proc/")
	return phrases.Leading(rest, -1)
}
