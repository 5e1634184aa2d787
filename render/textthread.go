package render

import (
	"cmp"
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/unwind"
)

// threadText writes a thread.
type threadText struct {
	*text
	r     *report.Report
	group []*report.Thread // threads that are alike
	th    *report.Thread   // the first
}

func (t *threadText) thread() {
	r, th := t.r, t.th
	t.header()
	if s := taskText(th); s != "" {
		t.line("    " + s)
	}
	t.reasons()
	f := frameTable{text: t.text, arch: r.Snapshot.Arch, th: th}
	f.frames()
	if s := createdBy(th); s != "" {
		t.line("    " + s)
	}
	t.stop()
	if t.style.StackUsage {
		t.usage()
	}
	if t.style.Registers {
		t.registers()
	}
}

// header writes: Thread 1 "main" (crashed): SIGSEGV at 0x00000000
func (t *threadText) header() {
	th := t.th
	t.b = append(t.b, threadTitle(t.group)...)
	if s := names(t.group); s != "" {
		t.b = typeset.AppendText(append(t.b, ' '), s)
	}
	if th.Crashed {
		t.b = append(t.b, " (crashed)"...)
		if f := cmp.Or(th.Fault, t.r.Snapshot.Fault); f != nil && f.Name != "" {
			t.b = append(t.b, ": "...)
			t.b = typeset.AppendText(t.b, f.Name)
			if f.HasAddress {
				t.b = append(t.b, " at "...)
				t.b = typeset.AppendHex(t.b, f.Address, t.digits)
			}
		}
	}
	t.b = append(t.b, '\n')
}

// reasonColumn is where the lines below a thread's title begin.
const reasonColumn = 4

// reasons writes why the thread crashed, a line each.
func (t *threadText) reasons() {
	r, th := t.r, t.th
	for _, s := range th.Reasons {
		t.sentence(reasonColumn, s)
	}
	if r.Crash == nil || !th.Crashed || r.Snapshot.Fault.Thread != th.ID {
		return
	}
	for i, s := range r.Crash.Reasons {
		if i == 0 && r.Crash.Code != "" {
			s += " (" + r.Crash.Code + ")"
		}
		t.sentence(reasonColumn, s)
	}
	if r.Snapshot.Command != "" {
		t.sentence(reasonColumn, "command: "+r.Snapshot.Command)
	}
	if r.Snapshot.Time != "" {
		t.line("    time: " + r.Snapshot.Time)
	}
}

func (t *threadText) stop() {
	th := t.th
	t.b = append(t.b, "    stop: "...)
	t.b = append(t.b, th.Stop.Reason.String()...)
	if th.Stop.Reason != unwind.StopRoot && th.Stop.Reason != unwind.StopNullPC {
		t.b = append(t.b, " at "...)
		t.b = typeset.AppendHex(t.b, th.Stop.Addr, t.digits)
	}
	t.b = append(t.b, '\n')
	if th.Tried != nil {
		t.attempts(th.Tried[len(th.Frames)])
	}
}

// registers writes the known registers, four in a line, or as many as fit.
func (t *threadText) registers() {
	arch := t.r.Snapshot.Arch
	n, perLine := 0, 4
	if cell := len("    status 0x") + t.digits; t.style.Width > 0 {
		perLine = min(max(t.style.Width/cell, 1), perLine)
	}
	for i := range arch.Regs {
		v, ok := t.th.Regs.Lookup(regAt(i))
		if !ok {
			continue
		}
		t.b = fmt.Appendf(t.b, "    %-6s ", arch.Regs[i].Names[0])
		t.b = typeset.AppendHex(t.b, v, 2*arch.Regs[i].Size)
		if n++; n%perLine == 0 {
			t.b = append(t.b, '\n')
		}
	}
	if n%perLine != 0 {
		t.b = append(t.b, '\n')
	}
}

func regAt(i int) cpu.Reg { return cpu.Reg(min(i, int(cpu.NoReg))) }
