package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// The colours of a terminal that are used: names are bold, doubt is yellow or red, what was added green.
const (
	bold   = "\x1b[1m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	dim    = "\x1b[2m"
	plain  = "\x1b[0m"
)

// text appends lines for people.
type text struct {
	b      []byte
	style  Style
	digits int // of an address
	// w, if set, is given what b holds from time to time; err is why w could not be written.
	w   io.Writer
	err error
}

// flush writes what is held back, if that is as many bytes.
func (t *text) flush(most int) {
	if t.w == nil || len(t.b) < most {
		return
	}
	if t.err == nil {
		_, t.err = t.w.Write(t.b)
	}
	t.b = t.b[:0]
}

// frameBytes is about what a frame takes: a short name, a file and a line.
const frameBytes = 80

// AppendText appends a report for people. An inlined function has a line of its
// own, above the function that it was inlined into and with the same number: it
// is not a frame of the stack.
func AppendText(dst []byte, r *report.Report, style Style) []byte {
	frames := 0
	for i := range r.Threads {
		frames += len(r.Threads[i].Frames)
	}
	t := text{b: slices.Grow(dst, frames*frameBytes), style: style}
	t.report(r)
	return t.b
}

// WriteText writes what AppendText appends, while it is made.
func WriteText(w io.Writer, r *report.Report, style Style) error {
	t := text{w: w, style: style}
	t.report(r)
	t.flush(0)
	return t.err
}

func (t *text) report(r *report.Report) {
	t.digits = 8
	if t.style.Title != "" {
		t.line(t.style.Title)
	}
	if r.Snapshot == nil {
		t.line("no backtrace")
		return
	}
	t.digits = 2 * r.Snapshot.Arch.AddrSize
	for i, group := range alikeThreads(r.Threads, t.style.isAlone) {
		if i > 0 {
			t.b = append(t.b, '\n')
		}
		th := threadText{t, r, group, group[0]}
		th.thread()
	}
	if t.style.Modules {
		t.modules(r.Snapshot)
	}
	if r.Advice != nil {
		t.advice(r.Advice)
	}
	if t.style.Legend {
		t.legend(r)
	}
}

// legend writes what the marks of a report mean, in a few lines.
func (t *text) legend(r *report.Report) {
	if words := legend(r); words != "" {
		width := t.style.Width
		if width <= 0 {
			width = maxLegend
		}
		t.b = append(t.b, '\n')
		lines := appendWrapped(nil, words+". More: backsight help marks", 0, min(width, maxLegend))
		for line := range strings.Lines(string(lines)) {
			t.colored(dim, strings.TrimSuffix(line, "\n"))
			t.b = append(t.b, '\n')
		}
	}
}

// maxLegend is how wide text is that is read as sentences, in columns.
const maxLegend = 110

func (t *text) line(s string) { t.b = append(appendText(t.b, s), '\n') }

// sentence writes a line that begins at a column, on a terminal no wider than that, so that words stay whole.
func (t *text) sentence(column int, s string) {
	t.pad(column)
	if width := t.style.Width; width > 2*column {
		t.b = appendWrapped(t.b, Text(s), column, width)
		return
	}
	t.line(s)
}

func (t *text) colored(color, s string) {
	if !t.style.Color || color == "" {
		t.b = appendText(t.b, s)
		return
	}
	t.b = append(t.b, color...)
	t.b = appendText(t.b, s)
	t.b = append(t.b, plain...)
}

func (t *text) pad(n int) {
	for range n {
		t.b = append(t.b, ' ')
	}
}

// attempts writes what was tried, one line an answer. Sources that had none share a line as
// far as they had the same reason. Two sources may have one method: the source that undoes a
// call through a bad pointer finds its frames by code, as code analysis does. Such a method is
// not said to have no answer where one of its sources has an answer.
func (t *text) attempts(list []report.Attempt) {
	list = slices.DeleteFunc(slices.Clone(list), func(a report.Attempt) bool {
		answers := func(o report.Attempt) bool { return o.Method == a.Method && isAnswer(&o) }
		return !isAnswer(&a) && slices.ContainsFunc(list, answers)
	})
	for i := 0; i < len(list); i++ {
		a := &list[i]
		t.b = append(append(t.b, "        "...), a.Method.String()...)
		if !isAnswer(a) {
			for i+1 < len(list) && !isAnswer(&list[i+1]) && list[i+1].Reason == a.Reason {
				i++
				t.b = append(append(t.b, ", "...), list[i].Method.String()...)
			}
		}
		t.b = append(t.b, ": "...)
		t.attempt(a)
	}
}

// isAnswer tells whether a source had a rule or a caller, taken or not.
func isAnswer(a *report.Attempt) bool { return a.Applied || a.RuleText != "" }

func (t *text) attempt(a *report.Attempt) {
	t.b = appendText(t.b, a.RuleText)
	if a.Applied {
		if a.RuleText != "" {
			t.b = append(t.b, ' ')
		}
		t.b = append(t.b, "gives pc "...)
		t.b = appendHex(t.b, a.PC, t.digits)
		t.b = append(t.b, " cfa "...)
		t.b = appendHex(t.b, a.CFA, t.digits)
		t.b = fmt.Appendf(t.b, " (%s: %s)", a.Trust, a.Checks)
	}
	if a.Reason != "" {
		if a.Applied || a.RuleText != "" {
			t.b = append(t.b, "; "...)
		}
		t.b = appendText(t.b, a.Reason)
	}
	t.b = append(t.b, '\n')
}

// frameName is function+offset or module+offset of where the frame resumes.
func frameName(f *report.Frame) string {
	switch {
	case f.Function != "" && (f.NoEntry || !f.HasAddress() && f.PC == f.FunctionAt()):
		return f.Function // the capture says that it runs, not where
	case f.Function != "":
		return f.Function + offset(f.PC-f.FunctionAt())
	case f.Module != nil && f.Module.Stated == target.StatedAddresses:
		return orUnknown(moduleName(f.Module))
	case f.Module != nil:
		return orUnknown(moduleName(f.Module)) + offset(f.PC-f.Module.Lo)
	}
	return "?"
}

func offset(n uint64) string { return "+" + string(appendHex(nil, n, 1)) }

func orUnknown(s string) string {
	if s == "" {
		return "?"
	}
	return s
}

func place(file, dir string, line int) string {
	return string(appendPlace(nil, "", file, dir, line))
}

// appendPlace appends a file and a line, and before in front of them; nothing where no file is known.
func appendPlace(dst []byte, before, file, dir string, line int) []byte {
	if file == "" {
		return dst
	}
	dst = appendText(append(dst, before...), shortFile(file, dir))
	if line == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, ':'), int64(line), 10)
}
