package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
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

// writeText writes what AppendText appends, while it is made.
func writeText(w io.Writer, r *report.Report, style Style) error {
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
		lines := typeset.AppendWrapped(nil, words+". More: backsight help marks", 0, min(width, maxLegend))
		for line := range strings.Lines(string(lines)) {
			t.colored(typeset.Dim, strings.TrimSuffix(line, "\n"))
			t.b = append(t.b, '\n')
		}
	}
}

// maxLegend is how wide text is that is read as sentences, in columns.
const maxLegend = 110

func (t *text) line(s string) { t.b = append(typeset.AppendText(t.b, s), '\n') }

// sentence writes a line that begins at a column, on a terminal no wider than that, so that words stay whole.
func (t *text) sentence(column int, s string) {
	t.pad(column)
	if width := t.style.Width; width > 2*column {
		t.b = typeset.AppendWrapped(t.b, typeset.Text(s), column, width)
		return
	}
	t.line(s)
}

func (t *text) colored(color, s string) {
	if !t.style.Color || color == "" {
		t.b = typeset.AppendText(t.b, s)
		return
	}
	t.b = append(t.b, color...)
	t.b = typeset.AppendText(t.b, s)
	t.b = append(t.b, typeset.Plain...)
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
	t.b = typeset.AppendText(t.b, a.RuleText)
	if a.Applied {
		if a.RuleText != "" {
			t.b = append(t.b, ' ')
		}
		t.b = append(t.b, "gives pc "...)
		t.b = typeset.AppendHex(t.b, a.PC, t.digits)
		t.b = append(t.b, " cfa "...)
		t.b = typeset.AppendHex(t.b, a.CFA, t.digits)
		t.b = fmt.Appendf(t.b, " (%s: %s)", a.Trust, a.Checks)
	}
	if a.Reason != "" {
		if a.Applied || a.RuleText != "" {
			t.b = append(t.b, "; "...)
		}
		t.b = typeset.AppendText(t.b, a.Reason)
	}
	t.b = append(t.b, '\n')
}

func place(file, dir string, line int) string {
	return string(typeset.AppendPlace(nil, "", file, dir, line))
}
