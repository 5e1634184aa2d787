// Package display shows what stands beside reports, comparisons, groups and charts, and writes reports in the forms that other
// programs read.
package display

import (
	"fmt"
	"path"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// apple appends a report in the form of Apple's crash reports.
type apple struct {
	b []byte
	r *report.Report
}

// AppendApple appends a report as a crash report of macOS or iOS, "Report Version: 104", which
// symbolicators read. A function that was inlined has a line of its own before its frame's, as in
// reports that were symbolicated. What the capture does not tell is left out.
func AppendApple(dst []byte, r *report.Report) []byte {
	a := apple{b: dst, r: r}
	if r.Snapshot == nil {
		return a.b
	}
	a.header()
	for i := range r.Threads {
		a.thread(&r.Threads[i])
	}
	for i := range r.Threads {
		if t := &r.Threads[i]; t.Crashed {
			a.registers(t)
		}
	}
	a.images()
	return a.b
}

func (a *apple) line(format string, args ...any) {
	a.b = append(typeset.AppendText(a.b, fmt.Sprintf(format, args...)), '\n')
}

// field writes a line of the header, if there is something to say.
func (a *apple) field(key, value string) {
	if value != "" {
		a.line("%-20s %s", key+":", value)
	}
}

func (a *apple) header() {
	s := a.r.Snapshot
	name := path.Base(s.Command)
	if s.Command == "" {
		name = "unknown"
	}
	a.field("Process", fmt.Sprintf("%s [%d]", name, s.PID))
	if strings.Contains(s.Command, "/") {
		a.field("Path", s.Command)
	}
	code, _ := appleNames(s.Arch)
	a.field("Code Type", code)
	a.line("")
	a.field("Date/Time", s.Time)
	a.field("OS Version", s.OS)
	a.field("Report Version", "104")
	a.line("")
	if f := s.Fault; f != nil && f.Name != "" {
		a.line("Exception Type:  %s", f.Name)
		if f.HasAddress {
			a.line("Exception Codes: at 0x%0*x", 2*s.Arch.AddrSize, f.Address)
		}
		a.line("Triggered by Thread:  %d", f.Thread)
		a.line("")
	}
}

// appleNames are the names of a processor in "Code Type" and in "Binary Images".
func appleNames(arch *cpu.Arch) (code, image string) {
	switch arch.Name {
	case "x86_64":
		return "X86-64", "x86_64"
	case "i386":
		return "X86", "i386"
	case "aarch64":
		return "ARM-64", "arm64"
	case "arm":
		return "ARM", "armv7"
	}
	return arch.Name, arch.Name
}

func (a *apple) thread(t *report.Thread) {
	if t.Name != "" {
		a.line("Thread %d name:  %s", t.ID, t.Name)
	}
	crashed := ""
	if t.Crashed {
		crashed = " Crashed"
	}
	a.line("Thread %d%s:", t.ID, crashed)
	n := 0
	for i := range t.Count() {
		n = a.frame(n, typeset.Numbered(t, i))
	}
	a.line("")
}

// frame writes line n and those behind it: number, binary, address, then symbol and offset, or the
// binary's address and the offset in it. It returns the number of the next line.
func (a *apple) frame(n int, f *report.Frame) int {
	binary, what := "???", "0x0 + "+fmt.Sprint(f.PC)
	if m := f.Module; m != nil {
		binary, what = m.Base(), fmt.Sprintf("%#x + %d", m.Lo, f.PC-m.Lo)
	}
	if f.Function != "" {
		what = fmt.Sprintf("%s + %d", f.Function, f.PC-f.FunctionAt()) + sourcePlace(f.File, f.Line)
	}
	for i := range f.Inlines {
		in := &f.Inlines[i]
		a.entry(n, binary, f.PC, in.Function+sourcePlace(in.File, in.Line)+" [inlined]")
		n++
	}
	a.entry(n, binary, f.PC, what)
	return n + 1
}

func (a *apple) entry(n int, binary string, pc uint64, what string) {
	a.line("%-3d %-30s 0x%0*x %s", n, binary, 2*a.r.Snapshot.Arch.AddrSize, pc, what)
}

// sourcePlace is the place of a line in the source, "" for none.
func sourcePlace(file string, line int) string {
	if file == "" {
		return ""
	}
	return fmt.Sprintf(" (%s:%d)", path.Base(file), line)
}

// registers writes what is known of a thread's registers, four a line.
func (a *apple) registers(t *report.Thread) {
	arch := a.r.Snapshot.Arch
	code, _ := appleNames(arch)
	state := map[string]string{"ARM-64": "ARM Thread State (64-bit)", "X86": "X86 Thread State (32-bit)", "X86-64": "X86 Thread State (64-bit)"}[code]
	if state == "" {
		state = code + " Thread State"
	}
	a.line("Thread %d crashed with %s:", t.ID, state)
	n := 0
	for set := t.Regs.Known; set != 0; set = set.Without(set.First()) {
		r := set.First()
		a.b = typeset.AppendText(a.b, fmt.Sprintf(" %6s: 0x%0*x", appleRegister(arch, r), 2*arch.RegSize, t.Regs.Val[r]))
		if n++; n%4 == 0 {
			a.b = append(a.b, '\n')
		}
	}
	if n%4 != 0 {
		a.b = append(a.b, '\n')
	}
	a.line("")
}

// appleRegister is a register's name: arm64's x29 and x30 are fp and lr.
func appleRegister(arch *cpu.Arch, r cpu.Reg) string {
	switch {
	case arch.Name == "x86_64" && arch.RegName(r) == "eflags":
		return "rflags"
	case arch.CallPushesRA:
	case r == arch.FP:
		return "fp"
	case r == arch.LR:
		return "lr"
	}
	return arch.RegName(r)
}

func (a *apple) images() {
	a.line("Binary Images:")
	_, arch := appleNames(a.r.Snapshot.Arch)
	for _, m := range a.r.Snapshot.Modules { // by address
		a.line("%#18x - %#18x %s %s <%x> %s", m.Lo, m.Hi-1, m.Base(), arch, m.BuildID, m.Name)
	}
}
