package render

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// AppendJSONLine appends a report as one line of JSON, newline included. The
// members are those of minidump-stackwalk's JSON where they mean the same; what
// is ours stands under "backsight".
func AppendJSONLine(dst []byte, r *report.Report, style Style) []byte {
	e := encoder{b: dst, style: style, digits: 8}
	if r.Snapshot != nil {
		e.digits = 2 * r.Snapshot.Arch.AddrSize
	}
	e.b = append(e.b, '{')
	e.report(r)
	e.close('}')
	return append(e.b, '\n')
}

// AppendJSON appends a report as indented JSON.
func AppendJSON(dst []byte, r *report.Report, style Style) []byte {
	out := bytes.NewBuffer(dst)
	// The line is valid JSON, so that indenting it cannot fail.
	_ = json.Indent(out, AppendJSONLine(nil, r, style), "", " ")
	return out.Bytes()
}

func (e *encoder) report(r *report.Report) {
	e.key("status")
	if r.Snapshot == nil {
		e.string("ERROR")
	} else {
		e.string("OK")
		e.snapshot(r)
		e.key("thread_count")
		e.int(len(r.Threads))
		e.key("threads")
		e.open('[')
		for i := range r.Threads {
			e.thread(r, &r.Threads[i])
		}
		e.close(']')
	}
	e.key("backsight")
	e.open('{')
	e.member("version", e.style.Version)
	e.member("capture", e.style.Capture)
	e.issues(r.Issues)
	e.close('}')
}

// snapshot writes what is about the program as a whole.
func (e *encoder) snapshot(r *report.Report) {
	s := r.Snapshot
	if s.PID != 0 {
		e.key("pid")
		e.int(s.PID)
	}
	e.member("command", s.Command)
	e.key("system_info")
	e.open('{')
	e.member("cpu_arch", s.Arch.Name)
	e.member("os", s.OS)
	e.close('}')
	e.key("crash_info")
	e.crash(r)
	e.key("main_module")
	if i := mainModule(s); i >= 0 {
		e.int(i)
	} else {
		e.null()
	}
	e.key("modules")
	e.open('[')
	for _, m := range s.Modules {
		e.module(m)
	}
	e.close(']')
}

// crash writes why the program stopped. crashing_thread is an index in threads.
func (e *encoder) crash(r *report.Report) {
	e.open('{')
	if f := r.Snapshot.Fault; f != nil {
		e.member("type", f.Name)
		if f.HasAddress {
			e.key("address")
			e.address(f.Address)
		}
	}
	e.reasons(r.Crash)
	for i := range r.Threads {
		if r.Threads[i].Crashed {
			e.key("crashing_thread")
			e.int(i)
			break
		}
	}
	e.close('}')
}

// reasons writes what is known of the cause; nothing where there is no fault.
func (e *encoder) reasons(c *report.Crash) {
	if c == nil {
		return
	}
	e.key("backsight")
	e.open('{')
	e.member("code", c.Code)
	e.member("kind", c.Kind)
	e.member("access", c.Access)
	e.key("address")
	if c.HasAddress {
		e.address(c.Address)
	} else {
		e.null()
	}
	e.member("place", c.Place)
	e.strings("reasons", c.Reasons)
	e.close('}')
}

func (e *encoder) module(m *target.Module) {
	e.open('{')
	e.member("filename", moduleName(m))
	e.key("base_addr")
	e.address(m.Lo)
	e.key("end_addr")
	e.address(m.Hi)
	id := m.BuildID
	if id == nil && m.Image != nil {
		id = m.Image.BuildID
	}
	e.member("debug_id", debugID(id, m))
	e.member("code_id", hex.EncodeToString(id))
	e.key("backsight")
	e.open('{')
	e.member("path", m.Name)
	if m.Image != nil {
		e.member("file", m.Image.Path)
	} else {
		e.member("file", "")
	}
	e.close('}')
	e.close('}')
}

// debugID is a build ID as Breakpad's tools write it: its first 16 bytes as a
// GUID, whose first three fields are in the file's byte order, and the age 0.
func debugID(id []byte, m *target.Module) string {
	if id == nil {
		return ""
	}
	var g [16]byte
	copy(g[:], id)
	if m.Image == nil || !m.Image.Arch.BigEndian {
		for _, f := range [][]byte{g[0:4], g[4:6], g[6:8]} {
			for i, j := 0, len(f)-1; i < j; i, j = i+1, j-1 {
				f[i], f[j] = f[j], f[i]
			}
		}
	}
	return strings.ToUpper(hex.EncodeToString(g[:])) + "0"
}

func (e *encoder) thread(r *report.Report, t *report.Thread) {
	e.open('{')
	e.key("thread_id")
	e.int(t.ID)
	e.member("thread_name", t.Name)
	e.key("frame_count")
	e.int(len(t.Frames))
	e.key("frames")
	e.open('[')
	for i := range t.Frames {
		e.frame(r, t, i)
	}
	e.close(']')
	e.key("backsight")
	e.open('{')
	e.key("stop")
	e.open('{')
	e.key("reason")
	e.string(t.Stop.Reason.String())
	e.key("address")
	if t.Stop.Addr == 0 {
		e.hex(0, 1)
	} else {
		e.address(t.Stop.Addr)
	}
	e.close('}')
	if o := t.Overwritten; o != nil {
		e.overwritten(o)
	}
	if t.Task != nil {
		e.task(t)
	}
	if t.Tried != nil {
		e.attempts(t.Tried[len(t.Frames)])
	}
	e.close('}')
	e.close('}')
}

// overwritten writes the return address that is no code.
func (e *encoder) overwritten(o *report.Overwritten) {
	e.key("overwritten")
	e.open('{')
	e.key("frame")
	e.int(o.Frame)
	e.key("value")
	e.address(o.Value)
	e.member("text", o.Text)
	e.key("slot")
	if o.Slot == 0 {
		e.null()
	} else {
		e.address(o.Slot)
	}
	e.close('}')
}

func (e *encoder) frame(r *report.Report, t *report.Thread, n int) {
	f := &t.Frames[n]
	e.open('{')
	e.key("frame")
	e.int(n)
	e.member("module", moduleName(f.Module))
	e.key("module_offset")
	if f.Module == nil {
		e.null()
	} else {
		e.address(f.CallSite - f.Module.Lo)
	}
	e.key("offset")
	e.addressOf(f, f.CallSite)
	e.location(f)
	e.key("trust")
	e.string(walkerTrust(&f.Frame))
	if n == 0 && e.style.Registers {
		e.registers(r, t)
	}
	e.key("backsight")
	e.evidence(r.Snapshot.Arch, f, t, n)
	e.close('}')
}

// addressOf writes an address of a frame, null where none is known.
func (e *encoder) addressOf(f *report.Frame, addr uint64) {
	if f.HasAddress() {
		e.address(addr)
	} else {
		e.null()
	}
}

// location writes the names, null where there are none.
func (e *encoder) location(f *report.Frame) {
	e.member("function", f.Function)
	e.key("function_offset")
	if f.Function == "" {
		e.null()
	} else {
		e.hex(f.CallSite-f.FunctionAt(), 1)
	}
	e.place(f.File, f.Line)
	e.key("inlines")
	if len(f.Inlines) == 0 {
		e.null()
		return
	}
	e.open('[')
	for i := range f.Inlines {
		in := &f.Inlines[i]
		e.open('{')
		e.member("function", in.Function)
		e.place(in.File, in.Line)
		e.close('}')
	}
	e.close(']')
}

// place writes a file and a line, null where they are not known. Line 0 of a known file is what
// the file's debug information says of code that the compiler made of no single line (DWARF 5
// §6.2.2).
func (e *encoder) place(file string, line int) {
	e.member("file", file)
	e.key("line")
	if file == "" {
		e.null()
		return
	}
	e.int(line)
}

// evidence writes how a frame was found and how sure it is.
func (e *encoder) evidence(arch *cpu.Arch, f *report.Frame, t *report.Thread, n int) {
	e.open('{')
	e.key("pc")
	e.addressOf(f, f.PC)
	e.key("cfa")
	if f.HasCFA {
		e.address(f.CFA)
	} else {
		e.null()
	}
	if e.style.StackUsage {
		e.stackUse(t.StackUsage(arch)[n])
	}
	e.member("method", f.Method.String())
	e.member("trust", f.Trust.String())
	e.key("checks")
	e.open('[')
	for _, c := range f.Checks.Names() {
		e.string(c)
	}
	e.close(']')
	e.excerpts(arch, f)
	if t.Tried != nil {
		e.attempts(t.Tried[n])
	}
	e.close('}')
}

// stackUse writes what a frame takes of the stack, null where nobody knows.
func (e *encoder) stackUse(u report.StackUse) {
	e.key("stack_depth")
	if !u.Known {
		e.null()
		e.key("stack_size")
		e.null()
		return
	}
	e.int(int(u.Depth))
	e.key("stack_size")
	e.int(int(u.Size))
}

// attempts writes what was tried to find a frame.
func (e *encoder) attempts(list []report.Attempt) {
	e.key("attempts")
	e.open('[')
	for i := range list {
		a := &list[i]
		e.open('{')
		e.member("method", a.Method.String())
		e.member("verdict", a.Verdict.String())
		e.member("rule", a.RuleText)
		if a.Applied {
			e.key("pc")
			e.address(a.PC)
			e.key("cfa")
			e.address(a.CFA)
			e.strings("checks", a.Checks.Names())
			e.member("trust", a.Trust.String())
		}
		e.member("reason", a.Reason)
		e.close('}')
	}
	e.close(']')
}

func (e *encoder) registers(r *report.Report, t *report.Thread) {
	e.key("registers")
	e.open('{')
	arch := r.Snapshot.Arch
	for i := range arch.Regs {
		if v, ok := t.Regs.Lookup(regAt(i)); ok {
			e.key(arch.Regs[i].Names[0])
			e.hex(v, 2*arch.Regs[i].Size)
		}
	}
	e.close('}')
}

// walkerTrust says in minidump-stackwalk's words how a frame was found. Its cfi
// is any rule that is derived and checked.
func walkerTrust(f *unwind.Frame) string {
	switch {
	case f.Method == unwind.MethodContext:
		return "context"
	case f.Method == unwind.MethodFP:
		return "frame_pointer"
	case f.Method == unwind.MethodScan || f.Trust == unwind.Guess:
		return "scan"
	}
	return "cfi"
}
