package render

import (
	"encoding/hex"

	"github.com/backsight/backsight/internal/disassemble"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// AppendPlaceJSON appends a place as indented JSON. bias is added to its addresses, as in
// AppendPlace.
func AppendPlaceJSON(dst []byte, p *report.Place, bias uint64, style Style) []byte {
	e := placeEncoder{encoder{b: dst, digits: 2 * p.Image.Arch.AddrSize, indented: true}, p, bias}
	e.begin()
	e.key("status")
	e.string("OK")
	e.image()
	e.key("pc")
	e.address(p.PC + bias)
	e.name()
	e.key("function_range")
	if p.Bounds == "" {
		e.null()
	} else {
		e.open('{')
		e.key("begin")
		e.address(p.Lo + bias)
		e.key("end")
		e.address(p.Hi + bias)
		e.member("known_by", p.Bounds)
		e.close('}')
	}
	e.member("source", p.Source)
	e.answers()
	e.key("code")
	e.open('[')
	var printer disassemble.Printer
	for i := range p.Lines {
		e.instruction(&p.Lines[i], &printer)
	}
	e.close(']')
	e.key("backsight")
	e.open('{')
	e.member("version", style.Version)
	e.issues(p.Issues)
	e.close('}')
	e.close('}')
	return append(e.b, '\n')
}

// placeEncoder writes a place. bias is added to its addresses.
type placeEncoder struct {
	encoder
	p    *report.Place
	bias uint64
}

func (e *placeEncoder) image() {
	p := e.p
	e.key("image")
	e.open('{')
	e.member("file", p.Image.Path)
	e.member("cpu_arch", p.Image.Arch.Name)
	e.member("abi", p.Image.Arch.ABI)
	e.member("code_id", hex.EncodeToString(p.Image.BuildID))
	e.close('}')
}

// name writes the names of the place, null where there are none.
func (e *placeEncoder) name() {
	l := &e.p.Location
	e.member("function", l.Function)
	e.key("function_offset")
	if l.Function == "" {
		e.null()
	} else {
		e.hex(e.p.PC-l.Entry, 1)
	}
	e.place(l.File, l.Line)
}

// answers writes what each source says, and the rule that a walker would try first.
func (e *placeEncoder) answers() {
	p := e.p
	best := ""
	for i := range p.Answers {
		if a := &p.Answers[i]; a.Source == p.Source && len(a.Rules) > 0 {
			best = a.Rules[0].Format(p.Image.Arch)
		}
	}
	e.member("rule", best)
	e.key("answers")
	e.open('[')
	for i := range p.Answers {
		a := &p.Answers[i]
		e.open('{')
		e.member("source", a.Source)
		verdict := ""
		if len(a.Rules) == 0 {
			verdict = a.Verdict.String()
		}
		e.member("verdict", verdict)
		rules := make([]string, len(a.Rules))
		for k := range a.Rules {
			rules[k] = a.Rules[k].Format(p.Image.Arch) + ruleRemark(&a.Rules[k])
		}
		e.strings("rules", rules)
		e.strings("notes", a.Notes)
		e.close('}')
	}
	e.close(']')
}

func (e *placeEncoder) instruction(l *report.Line, printer *disassemble.Printer) {
	p, bias := e.p, e.bias
	e.open('{')
	e.key("address")
	e.address(l.Addr + bias)
	e.member("bytes", hex.EncodeToString(l.Code))
	e.member("text", printer.Next(p.Image.Arch, l.Code, l.Addr+bias, p.Mode))
	e.member("effect", typeset.Effect(p.Image.Arch, &l.Insn, bias))
	e.member("target", l.Target)
	if l.HasRule {
		e.member("rule", l.Rule.Format(p.Image.Arch))
	} else {
		e.member("rule", "")
	}
	e.close('}')
}
