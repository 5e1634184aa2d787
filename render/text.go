package render

import (
	"cmp"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/unwind"
)

// The colours of a terminal that are used: names are bold, doubt is yellow or red.
const (
	bold   = "\x1b[1m"
	yellow = "\x1b[33m"
	red    = "\x1b[31m"
	plain  = "\x1b[0m"
)

// Widths of the column of names: where files line up, and how long a name may be
// before its own line grows rather than all others.
const (
	minName = 24
	maxName = 44
	// In a terminal of fewer columns nothing lines up: a line of a frame would take two.
	narrow = 60
)

// text appends lines for people.
type text struct {
	b      []byte
	style  Style
	digits int // of an address
	number int // width of #N
	name   int // width of the names' column
}

// AppendText appends a report for people. An inlined function has a line of its
// own, above the function that it was inlined into and with the same number: it
// is not a frame of the stack.
func AppendText(dst []byte, r *report.Report, style Style) []byte {
	t := text{b: dst, style: style, digits: 8}
	if style.Title != "" {
		t.line(style.Title)
	}
	if r.Snapshot == nil {
		t.line("no backtrace")
		return t.b
	}
	t.digits = 2 * r.Snapshot.Arch.AddrSize
	for i := range r.Threads {
		if i > 0 {
			t.b = append(t.b, '\n')
		}
		t.thread(r, &r.Threads[i])
	}
	if style.Modules {
		t.modules(r.Snapshot)
	}
	return t.b
}

func (t *text) line(s string) { t.b = append(appendText(t.b, s), '\n') }

func (t *text) colored(color, s string) {
	if !t.style.Color || color == "" {
		t.b = appendText(t.b, s)
		return
	}
	t.b = append(t.b, color...)
	t.b = appendText(t.b, s)
	t.b = append(t.b, plain...)
}

func (t *text) thread(r *report.Report, th *report.Thread) {
	t.header(r, th)
	if s := taskText(th); s != "" {
		t.line("    " + s)
	}
	t.reasons(r, th)
	t.frames(r.Snapshot.Arch, th)
	t.stop(th)
	if t.style.StackUsage {
		t.usage(r.Snapshot, th)
	}
	if t.style.Registers {
		t.registers(r.Snapshot.Arch, &th.Regs)
	}
}

// header writes: Thread 1 "main" (crashed): SIGSEGV at 0x00000000
func (t *text) header(r *report.Report, th *report.Thread) {
	t.b = append(t.b, "Thread "...)
	t.b = strconv.AppendInt(t.b, int64(th.ID), 10)
	if th.Name != "" {
		t.b = append(t.b, ` "`...)
		t.b = appendText(t.b, th.Name)
		t.b = append(t.b, '"')
	}
	if th.Crashed {
		t.b = append(t.b, " (crashed)"...)
		if f := cmp.Or(th.Fault, r.Snapshot.Fault); f != nil && f.Name != "" {
			t.b = append(t.b, ": "...)
			t.b = appendText(t.b, f.Name)
			if f.HasAddress {
				t.b = append(t.b, " at "...)
				t.b = appendHex(t.b, f.Address, t.digits)
			}
		}
	}
	t.b = append(t.b, '\n')
}

// frames writes all frames of a thread: a recursion once, with how often it repeats,
// unless what was tried for each frame is wanted.
func (t *text) frames(arch *cpu.Arch, th *report.Thread) {
	rows := t.layout(th)
	for i := 0; i < len(th.Frames); {
		c, ok := cycleAt(th.Frames, i)
		if !ok || th.Tried != nil {
			c = cycle{i, 1, 1}
		}
		for k := i; k < i+c.period; k++ {
			for r := range rows[k] {
				t.row(k, &rows[k][r])
			}
			t.excerpts(arch, &th.Frames[k])
			if th.Tried != nil {
				t.found(&th.Frames[k], th.Tried[k])
			}
		}
		if c.times > 1 {
			t.folded(th, &c)
		}
		i += c.frames()
	}
}

// folded writes: frames 2–27540 repeat recurse, 27539 times
func (t *text) folded(th *report.Thread, c *cycle) {
	what := "the " + strconv.Itoa(c.period) + " frames above"
	if f := &th.Frames[c.from]; c.period == 1 {
		what = "the frame above"
		if f.Function != "" {
			what = f.Function
		}
	}
	t.line(fmt.Sprintf("    frames %d–%d: %s again, %d times", c.from+c.period, c.from+c.frames()-1, what, c.times-1))
}

// reasons writes why the thread crashed, a line each.
func (t *text) reasons(r *report.Report, th *report.Thread) {
	if r.Crash == nil || !th.Crashed || r.Snapshot.Fault.Thread != th.ID {
		return
	}
	for i, s := range r.Crash.Reasons {
		t.b = append(t.b, "    "...)
		if i == 0 && r.Crash.Code != "" {
			s += " (" + r.Crash.Code + ")"
		}
		t.line(s)
	}
	if r.Snapshot.Command != "" {
		t.line("    command: " + r.Snapshot.Command)
	}
}

// row is one line of a backtrace.
type row struct {
	pc              uint64
	noPC            bool
	name, file, tag string
	color           string
}

// layout makes the rows of every frame and the widths of the columns.
func (t *text) layout(th *report.Thread) [][]row {
	t.number = max(2, len(strconv.Itoa(len(th.Frames)-1)))
	t.name = minName
	rows := make([][]row, len(th.Frames))
	for i := range th.Frames {
		rows[i] = frameRows(&th.Frames[i])
		for _, r := range rows[i] {
			if n := utf8.RuneCountInString(r.name); n <= maxName {
				t.name = max(t.name, n)
			}
		}
	}
	if t.style.Width > 0 && t.style.Width < narrow {
		t.name = 0
	}
	return rows
}

func frameRows(f *report.Frame) []row {
	var rows []row
	for i := range f.Inlines {
		in := &f.Inlines[i]
		rows = append(rows, row{pc: f.PC, name: Text(shortName(orUnknown(in.Function), maxName)) + " (inlined)", file: place(in.File, f.Dir, in.Line)})
	}
	tag, color := doubt(f)
	return append(rows, row{pc: f.PC, noPC: !f.HasAddress(), name: Text(shortName(frameName(f), maxName)), file: place(f.File, f.Dir, f.Line), tag: tag, color: color})
}

// frameName is function+offset or module+offset of where the frame resumes.
func frameName(f *report.Frame) string {
	switch {
	case f.Function != "":
		return f.Function + offset(f.PC-f.FunctionAt())
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
	if file == "" {
		return ""
	}
	s := Text(shortFile(file, dir))
	if line == 0 {
		return s
	}
	return s + ":" + strconv.Itoa(line)
}

// doubt is the remark on how a frame was found: where that is not certain, where
// there is no name to judge it by, and on signal frames.
func doubt(f *report.Frame) (tag, color string) {
	m := f.Method.String()
	switch {
	case f.Trust == unwind.Guess:
		return "[" + m + "?]", red
	case f.Trust == unwind.Likely:
		return "[" + m + ", likely]", yellow
	case f.Function == "" && f.Method != unwind.MethodContext, f.Method == unwind.MethodSigframe:
		return "[" + m + "]", ""
	}
	return "", ""
}

// row writes: #1  0x00400d34  mybacktrace+0x28         backtrace.c:31  [code, likely]
func (t *text) row(n int, r *row) {
	num := strconv.Itoa(n)
	t.b = append(append(t.b, '#'), num...)
	t.pad(t.number + 1 - len(num))
	if r.noPC {
		t.pad(len("0x") + t.digits)
	} else {
		t.b = appendHex(t.b, r.pc, t.digits)
	}
	t.b = append(t.b, "  "...)
	if t.style.Color {
		t.b = append(t.b, bold...)
	}
	t.b = append(t.b, r.name...)
	if t.style.Color {
		t.b = append(t.b, plain...)
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

func (t *text) pad(n int) {
	for range n {
		t.b = append(t.b, ' ')
	}
}

func (t *text) stop(th *report.Thread) {
	t.b = append(t.b, "    stop: "...)
	t.b = append(t.b, th.Stop.Reason.String()...)
	if th.Stop.Reason != unwind.StopRoot && th.Stop.Reason != unwind.StopNullPC {
		t.b = append(t.b, " at "...)
		t.b = appendHex(t.b, th.Stop.Addr, t.digits)
	}
	t.b = append(t.b, '\n')
	if th.Tried != nil {
		t.attempts(th.Tried[len(th.Frames)])
	}
}

// found writes how a frame was found, what speaks for it, and what was tried.
func (t *text) found(f *report.Frame, tried []report.Attempt) {
	t.b = fmt.Appendf(t.b, "      %s, %s: %s\n", f.Method, f.Trust, f.Checks)
	t.attempts(tried)
}

// attempts writes what was tried, one line an answer. Sources that had none share
// a line as far as they had the same reason.
func (t *text) attempts(list []report.Attempt) {
	for i := 0; i < len(list); i++ {
		a := &list[i]
		t.b = append(append(t.b, "        "...), a.Method.String()...)
		if a.RuleText == "" && !a.Applied {
			for i+1 < len(list) && !list[i+1].Applied && list[i+1].RuleText == "" && list[i+1].Reason == a.Reason {
				i++
				t.b = append(append(t.b, ", "...), list[i].Method.String()...)
			}
		}
		t.b = append(t.b, ": "...)
		t.attempt(a)
	}
}

func (t *text) attempt(a *report.Attempt) {
	t.b = append(t.b, a.RuleText...)
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

// registers writes the known registers, four in a line, or as many as fit.
func (t *text) registers(arch *cpu.Arch, regs *cpu.Registers) {
	n, perLine := 0, 4
	if cell := len("    status 0x") + t.digits; t.style.Width > 0 {
		perLine = min(max(t.style.Width/cell, 1), perLine)
	}
	for i := range arch.Regs {
		v, ok := regs.Lookup(regAt(i))
		if !ok {
			continue
		}
		t.b = fmt.Appendf(t.b, "    %-6s ", arch.Regs[i].Names[0])
		t.b = appendHex(t.b, v, 2*arch.Regs[i].Size)
		if n++; n%perLine == 0 {
			t.b = append(t.b, '\n')
		}
	}
	if n%perLine != 0 {
		t.b = append(t.b, '\n')
	}
}

func regAt(i int) cpu.Reg { return cpu.Reg(min(i, int(cpu.NoReg))) }
