package render

import (
	"encoding/hex"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/report"
)

// frameEncoder writes what belongs to a frame alone.
type frameEncoder struct {
	*encoder
	f *report.Frame
}

// location writes the names, null where there are none.
func (e *frameEncoder) location() {
	f := e.f
	e.member("function", f.Function)
	e.key("function_offset")
	if f.Function == "" || f.NoEntry {
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

// excerpts writes the variables, the source lines and the instructions around the frame.
func (e *frameEncoder) excerpts(arch *cpu.Arch) {
	d := e.f.Details
	if d == nil {
		return
	}
	e.variables()
	if d.Source != nil {
		e.key("source")
		e.open('[')
		for i := range d.Source {
			e.open('{')
			e.key("line")
			e.int(d.Source[i].Number)
			e.key("text")
			e.string(d.Source[i].Text)
			e.close('}')
		}
		e.close(']')
	}
	if d.Code == nil {
		return
	}
	e.key("code")
	e.open('[')
	for i := range d.Code {
		c := &d.Code[i]
		e.open('{')
		e.key("address")
		e.address(c.Addr)
		e.member("bytes", hex.EncodeToString(c.Bytes))
		e.member("text", instructionText(arch, c))
		e.key("here")
		e.bool(c.Here)
		e.close('}')
	}
	e.close(']')
}

// variables writes the arguments and local variables.
func (e *frameEncoder) variables() {
	d := e.f.Details
	if d.Variables == nil {
		return
	}
	e.key("variables")
	e.open('[')
	for i := range d.Variables {
		v := &d.Variables[i]
		e.open('{')
		e.member("name", v.Name)
		e.member("type", v.Type)
		e.key("argument")
		e.bool(v.Argument)
		e.member("inlined", v.Inlined)
		e.member("value", v.Value)
		e.member("missing", v.Missing)
		e.close('}')
	}
	e.close(']')
}

// writeAttempts writes what was tried to find a frame.
func writeAttempts(e *encoder, list []report.Attempt) {
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
