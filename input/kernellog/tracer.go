package kernellog

import (
	"strings"

	"github.com/backsight/backsight/input/console"
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
	}
	return ""
}

// tracerEntry is an entry of such a chain without what stands before.
func tracerEntry(text string) string {
	if rest, ok := strings.CutPrefix(text, "=> "); ok {
		return strings.TrimSpace(rest)
	}
	if rest, ok := strings.CutPrefix(text, "kvm ["); ok {
		_, rest, _ = strings.Cut(rest, "]: ")
		return strings.TrimSpace(rest)
	}
	if number, rest, ok := strings.Cut(text, ") "); ok && isDecimal([]string{number}) {
		depth, rest := cutWord(strings.TrimLeft(rest, " "))
		size, rest := cutWord(strings.TrimLeft(rest, " "))
		if isDecimal([]string{depth, size}) {
			return strings.TrimSpace(rest)
		}
	}
	return text
}

// traced reads a line of a tracer's chain, or its heading; false for other lines.
func (s *scanner) traced(i int, l *console.Line) bool {
	r := s.open[l.Caller]
	if what := tracerOf(l.Text); what != "" {
		if r == nil || !r.tracer {
			s.under = r
		}
		chain := s.begin(i, l.Caller)
		chain.what, chain.says, chain.tracer = what, l.Text, true
		chain.trace.open, chain.trace.headed = true, true
		return true
	}
	if r == nil || !r.tracer {
		return false
	}
	switch text := tracerEntry(l.Text); {
	case strings.HasPrefix(text, "-----"): // below the heading
	case text != l.Text && r.trace.take(text):
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
