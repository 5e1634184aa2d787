package display

import (
	"strconv"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/unwind"
)

// AppendProblems appends each thread that crashed as a compiler's messages, which editors
// and CI systems know (VS Code: the problem matcher $gcc):
//
//	fw.c:54: error: hard fault in leaf_read: precise data bus error
//	fw.c:55: note: called from mid_c
//
// A frame without file and line has no message, and a guess none either. Where no frame has, the
// binary stands in the place of the file.
func AppendProblems(dst []byte, r *report.Report) []byte {
	for i := range r.Threads {
		if th := &r.Threads[i]; th.Crashed {
			dst = appendProblem(dst, r, th)
		}
	}
	return dst
}

func appendProblem(dst []byte, r *report.Report, th *report.Thread) []byte {
	said := false
	for i := range th.Frames {
		f := &th.Frames[i]
		if f.File == "" || f.Line == 0 || f.Trust == unwind.Guess {
			continue
		}
		dst = typeset.AppendText(dst, typeset.ShortFile(f.File, f.Dir))
		dst = strconv.AppendInt(append(dst, ':'), int64(f.Line), 10)
		if said {
			dst = append(dst, ": note: called from "...)
			dst = append(typeset.AppendText(dst, typeset.OrUnknown(f.Function)), '\n')
			continue
		}
		said = true
		dst = appendWhat(dst, r, th, f)
	}
	if !said && len(th.Frames) > 0 {
		f := &th.Frames[0]
		dst = appendWhat(typeset.AppendText(dst, typeset.OrUnknown(typeset.ModuleName(f.Module))), r, th, f)
	}
	return dst
}

// appendWhat appends what hit a thread in a frame.
func appendWhat(dst []byte, r *report.Report, th *report.Thread, f *report.Frame) []byte {
	dst = typeset.AppendText(append(dst, ": error: "...), crashName(r, th))
	where := f.Function
	if where == "" {
		where = typeset.FrameName(f)
	}
	dst = typeset.AppendText(append(dst, " in "...), where)
	if r.Crash != nil && len(r.Crash.Reasons) > 0 && r.Snapshot.Fault.Thread == th.ID {
		dst = typeset.AppendText(append(dst, ": "...), r.Crash.Reasons[0])
	}
	return append(dst, '\n')
}

// crashName is what hit a thread.
func crashName(r *report.Report, th *report.Thread) string {
	f := r.Snapshot.Fault
	if th.Fault != nil {
		f = th.Fault
	}
	if f == nil || f.Name == "" {
		return "crash"
	}
	return f.Name
}
