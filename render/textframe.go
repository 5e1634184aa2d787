package render

import (
	"fmt"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/unwind"
)

// Widths of the column of names: where files line up, and how long a name may be
// before its own line grows rather than all others.
const (
	minName = 24
	maxName = 44
	// In a terminal of fewer columns nothing lines up: a line of a frame would take two.
	narrow = 60
)

// frameTable writes the frames of a thread in columns.
type frameTable struct {
	*text
	arch   *cpu.Arch
	th     *report.Thread
	number int // width of #N
	name   int // width of the names' column
}

// frames writes all frames of a thread: a recursion once, with how often it repeats,
// unless what was tried for each frame is wanted.
func (t *frameTable) frames() {
	th := t.th
	t.layout()
	var whole cycle // whose frames are all listed, with what was tried for each
	for i := 0; i < th.Count(); {
		c := cycle{i, 1, 1}
		if i >= whole.from+whole.frames() || leftOut(th, i+whole.period) {
			switch found, ok := cycleAt(th, i); {
			case !ok:
			case th.Tried != nil && !leftOut(th, i+found.period):
				whole = found
			default:
				c = found
			}
		}
		for n := i; n < i+c.period; n++ {
			k, _ := th.Repeats.Index(n)
			if th.Kernel > 0 && k == th.Kernel {
				t.line("    " + entered)
			}
			for r := range t.rows(&th.Frames[k]) {
				t.row(n, &r)
			}
			t.excerpts(&th.Frames[k])
			if th.Tried != nil {
				t.found(&th.Frames[k], th.Tried[k])
			}
		}
		if c.times > 1 {
			t.folded(&c)
		}
		t.flush(mostHeld)
		i += c.frames()
	}
}

// entered stands between a kernel's frames and those of the program that entered it.
const entered = "entered from user space:"

// leftOut tells whether the list of frames leaves out the one with a number.
func leftOut(th *report.Thread, n int) bool {
	_, further := th.Repeats.Index(n)
	return further != 0
}

// folded writes: frames 2–27540 repeat recurse, 27539 times
func (t *frameTable) folded(c *cycle) {
	what := "the " + strconv.Itoa(c.period) + " frames above"
	if f := typeset.Numbered(t.th, c.from); c.period == 1 {
		what = "the frame above"
		if f.Function != "" {
			what = f.Function
		}
	}
	t.line(fmt.Sprintf("    frames %d–%d: %s again, %d times", c.from+c.period, c.from+c.frames()-1, what, c.times-1))
}

// row is one line of a backtrace.
type row struct {
	pc              uint64
	noPC            bool
	name, file, tag string
	color           string
}

// layout finds the widths of the columns.
func (t *frameTable) layout() {
	th := t.th
	t.number = max(2, len(strconv.Itoa(th.Count()-1)))
	t.name = minName
	for i := range th.Frames {
		for r := range t.rows(&th.Frames[i]) {
			if n := utf8.RuneCountInString(r.name); n <= maxName {
				t.name = max(t.name, n)
			}
		}
	}
	if t.style.Width > 0 && t.style.Width < narrow {
		t.name = 0
	}
}

// rows are the lines of a frame: the functions inlined there, innermost first, the frame's own, and the function that left by a
// tail call.
func (t *frameTable) rows(f *report.Frame) iter.Seq[row] {
	return func(yield func(row) bool) {
		r := row{pc: f.PC, noPC: !f.HasAddress()}
		for i := range f.Inlines {
			in := &f.Inlines[i]
			r.name, r.file = typeset.Text(shortName(typeset.OrUnknown(in.Function), maxName))+t.arguments(f, in.Function)+" (inlined)", place(in.File, f.Dir, in.Line)
			if !yield(r) {
				return
			}
		}
		r.name, r.file = typeset.Text(shortName(typeset.FrameName(f), maxName))+t.arguments(f, ""), where(f)
		r.tag, r.color = doubt(f)
		if l := tailCaller(f); yield(r) && l != nil {
			yield(row{noPC: true, name: typeset.Text(shortName(l.Function, maxName)) + " (tail call)", file: place(l.File, f.Dir, l.Line)})
		}
	}
}

// tailCaller is the function that left the stack to the frame's by a tail call, nil for none.
func tailCaller(f *report.Frame) *symbol.Location {
	if f.Details == nil {
		return nil
	}
	return f.Details.TailCaller
}

// where is a frame's file and line, else the binary of a function's name.
func where(f *report.Frame) string {
	if name := typeset.ModuleName(f.Module); f.File == "" && f.Function != "" && name != "" {
		return "in " + typeset.Text(name)
	}
	return place(f.File, f.Dir, f.Line)
}

// doubt is the remark on how a frame was found: where that is not certain, where
// there is no name to judge it by, and on signal frames.
func doubt(f *report.Frame) (tag, color string) {
	m := f.Method.String()
	switch {
	case f.Trust == unwind.Guess && f.Checks&unwind.SeveralFit != 0:
		return "[" + m + "?, one of several]", typeset.Red
	case f.Trust == unwind.Guess:
		return "[" + m + "?]", typeset.Red
	case f.Trust == unwind.Likely:
		return "[" + m + ", likely]", typeset.Yellow
	case f.Function == "" && f.Method != unwind.MethodContext, f.Method == unwind.MethodSigframe:
		return "[" + m + "]", ""
	}
	return "", ""
}

// row writes: #1  0x00400d34  mybacktrace+0x28         backtrace.c:31  [code, likely]
func (t *frameTable) row(n int, r *row) {
	num := strconv.Itoa(n)
	t.b = append(append(t.b, '#'), num...)
	t.pad(t.number + 1 - len(num))
	if r.noPC {
		t.pad(len("0x") + t.digits)
	} else {
		t.b = typeset.AppendHex(t.b, r.pc, t.digits)
	}
	t.b = append(t.b, "  "...)
	if t.style.Color {
		t.b = append(t.b, typeset.Bold...)
	}
	t.b = append(t.b, r.name...)
	if t.style.Color {
		t.b = append(t.b, typeset.Plain...)
	}
	if r.file != "" || r.tag != "" {
		t.pad(max(0, t.name-utf8.RuneCountInString(r.name)))
	}
	if r.file != "" {
		t.b = append(append(t.b, ' '), r.file...)
	}
	if r.tag != "" {
		t.b = append(t.b, ' ')
		t.colored(r.color, r.tag)
	}
	t.b = append(t.b, '\n')
}

// found writes how a frame was found, what speaks for it, and what was tried.
func (t *frameTable) found(f *report.Frame, tried []report.Attempt) {
	says := fmt.Sprintf("%s, %s: %s", f.Method, f.Trust, strings.Join(f.Checks.Means(), "; "))
	if f.Cap != unwind.NotCapped {
		says += fmt.Sprintf("; %s", f.Cap)
	}
	t.sentence(6, says)
	t.attempts(tried)
}
