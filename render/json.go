package render

import (
	"io"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// AppendJSONLine appends a report as one line of JSON, newline included. The
// members are those of minidump-stackwalk's JSON where they mean the same; what
// is ours stands under "backsight".
func AppendJSONLine(dst []byte, r *report.Report, style Style) []byte {
	e := encoder{b: dst}
	writeReport(&e, r, style)
	return append(e.b, '\n')
}

// AppendJSON appends a report as indented JSON, newline included.
func AppendJSON(dst []byte, r *report.Report, style Style) []byte {
	e := encoder{b: dst, indented: true}
	writeReport(&e, r, style)
	return append(e.b, '\n')
}

// writeJSON writes a report as JSON, indented or in one line, newline included, while the JSON is made: the whole need not fit
// into memory. The error is the writer's.
func writeJSON(w io.Writer, r *report.Report, style Style, indented bool) error {
	e := encoder{w: w, indented: indented}
	writeReport(&e, r, style)
	e.b = append(e.b, "\n "...)
	e.flush(0) // all but the space
	return e.err
}

func writeReport(e *encoder, r *report.Report, style Style) {
	if e.digits = 8; r.Snapshot != nil {
		e.digits = 2 * r.Snapshot.Arch.AddrSize
	}
	e.begin()
	w := reportEncoder{encoder: e, r: r, style: style}
	w.report()
	e.close('}')
}

// reportEncoder writes a report.
type reportEncoder struct {
	*encoder
	r     *report.Report
	style Style
}

func (e *reportEncoder) report() {
	r := e.r
	e.key("status")
	if r.Snapshot == nil {
		e.string("ERROR")
	} else {
		e.string("OK")
		e.snapshot(r.Snapshot)
		e.key("thread_count")
		e.int(len(r.Threads))
		e.key("threads")
		e.open('[')
		named := namedBy(r)
		for i := range r.Threads {
			t := threadEncoder{encoder: e.encoder, arch: r.Snapshot.Arch, t: &r.Threads[i], style: e.style, names: i == named}
			if e.style.StackUsage {
				t.use = t.t.StackUsage(r.Snapshot)
			}
			t.thread()
		}
		e.close(']')
	}
	e.key("backsight")
	e.open('{')
	e.member("version", e.style.Version)
	e.member("capture", e.style.Capture)
	e.issues(r.Issues)
	if r.Advice != nil {
		e.advice(r.Advice)
	}
	e.close('}')
}

// snapshot writes what is about the program as a whole.
func (e *reportEncoder) snapshot(s *target.Snapshot) {
	if s.PID != 0 {
		e.key("pid")
		e.int(s.PID)
	}
	e.member("command", s.Command)
	if s.Time != "" {
		e.member("time", s.Time)
	}
	e.key("system_info")
	e.open('{')
	e.member("cpu_arch", s.Arch.Name)
	e.member("os", s.OS)
	e.close('}')
	e.key("crash_info")
	e.crash()
	e.key("main_module")
	if i := typeset.MainModule(s); i >= 0 {
		e.int(i)
	} else {
		e.null()
	}
	e.key("modules")
	e.open('[')
	for _, m := range s.Modules {
		writeModule(e.encoder, m, s.OS)
	}
	e.close(']')
}

// crash writes why the program stopped. crashing_thread is an index in threads.
func (e *reportEncoder) crash() {
	r := e.r
	e.open('{')
	if f := r.Snapshot.Fault; f != nil {
		e.member("type", f.Name)
		switch {
		case f.HasAddress:
			e.key("address")
			e.address(f.Address)
		case r.Crash != nil && r.Crash.HasAddress: // as the instruction tells
			e.key("address")
			e.address(r.Crash.Address)
		}
	}
	e.reasons()
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
func (e *reportEncoder) reasons() {
	c := e.r.Crash
	if c == nil {
		return
	}
	e.key("backsight")
	e.open('{')
	e.member("code", c.Code)
	e.member("kind", c.Kind)
	e.member("access", c.Access)
	e.key("address")
	e.addressIf(c.HasAddress, c.Address)
	e.member("place", c.Place)
	e.strings("reasons", c.Reasons)
	e.close('}')
}
