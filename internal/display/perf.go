package display

import (
	"fmt"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// AppendPerf appends each thread as perf script writes a sample, innermost frame first, which FlameGraph's
// stackcollapse-perf.pl, speedscope and hotspot read:
//
//	netd  4321/4322  [001]    12.345678:    1000000 cpu-clock:
//		    5581b0c0f1a4 leaf+0x14 (/usr/sbin/netd)
//		    5581b0c0f1b0 mid (inlined)
//		    5581b0c0f1b0 serve+0x20 (/usr/sbin/netd)
func AppendPerf(dst []byte, r *report.Report) []byte {
	if r.Snapshot == nil {
		return dst
	}
	for i := range r.Threads {
		th := &r.Threads[i]
		m := th.Moment
		if m == nil {
			m = &target.Moment{CPU: -1, Period: 1}
		}
		const nano, micro = 1_000_000_000, 1_000
		dst = typeset.AppendText(dst, typeset.OrUnknown(th.Name))
		dst = fmt.Appendf(dst, " %7d/%-7d ", r.Snapshot.PID, th.ID)
		if m.CPU >= 0 {
			dst = fmt.Appendf(dst, "[%03d] ", m.CPU)
		}
		dst = fmt.Appendf(dst, "%5d.%06d: %10d ", m.Time/nano, m.Time%nano/micro, m.Period)
		dst = append(typeset.AppendText(dst, typeset.OrUnknown(m.Event)), ":\n"...)
		for k := range th.Count() {
			dst = appendPerfFrame(dst, typeset.Numbered(th, k), r.Snapshot.PID)
		}
		dst = append(dst, '\n')
	}
	return dst
}

// appendPerfFrame appends a frame. Code that process pid made is of the file in which run-times name it, as perf has it; FlameGraph's --jit
// goes by that.
func appendPerfFrame(dst []byte, f *report.Frame, pid int) []byte {
	for k := range f.Inlines {
		dst = fmt.Appendf(dst, "\t%16x ", f.PC)
		dst = append(typeset.AppendText(dst, typeset.OrUnknown(f.Inlines[k].Function)), " (inlined)\n"...)
	}
	name, module := "[unknown]", "[unknown]"
	if f.Function != "" {
		name = f.Function + typeset.Offset(f.PC-f.FunctionAt())
	}
	switch {
	case f.Module != nil && f.Module.Anonymous():
		module = fmt.Sprintf("/tmp/perf-%d.map", pid)
	case f.Module != nil:
		module = f.Module.Name
	}
	dst = fmt.Appendf(dst, "\t%16x ", f.PC)
	dst = append(typeset.AppendText(dst, name), " ("...)
	return append(typeset.AppendText(dst, module), ")\n"...)
}
