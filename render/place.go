package render

import (
	"fmt"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/unwind/rule"
)

// AppendPlace appends a place for people. bias is added to its addresses: the load bias
// where the reader thinks in target addresses, else 0.
func AppendPlace(dst []byte, p *report.Place, bias uint64, style Style) []byte {
	t := placeText{text{b: dst, style: style, digits: 2 * p.Image.Arch.AddrSize}, p, bias}
	t.place()
	t.function()
	t.best()
	t.b = append(t.b, "sources\n"...)
	for i := range p.Answers {
		t.answer(&p.Answers[i])
	}
	if len(p.Lines) > 0 {
		t.listing()
	}
	return t.b
}

// placeText writes a place. bias is added to its addresses.
type placeText struct {
	text
	p    *report.Place
	bias uint64
}

// place writes the binary and the place in it.
func (t *placeText) place() {
	p := t.p
	t.b = append(t.b, "binary    "...)
	t.b = typeset.AppendText(t.b, p.Image.Path)
	t.b = fmt.Appendf(t.b, ", %s\nplace     ", p.Image.Arch)
	t.b = typeset.AppendHex(t.b, p.PC+t.bias, t.digits)
	l := &p.Location
	if l.Function != "" {
		t.b = append(t.b, "  "...)
		t.colored(typeset.Bold, l.Function+typeset.Offset(p.PC-l.Entry))
	}
	if l.File != "" {
		t.b = append(append(t.b, "  "...), place(l.File, l.Dir, l.Line)...)
	}
	if p.Call {
		t.b = append(t.b, " (after the call before it)"...)
	}
	t.b = append(t.b, '\n')
}

// function writes the bounds of the function.
func (t *placeText) function() {
	p := t.p
	t.b = append(t.b, "function  "...)
	if p.Bounds == "" {
		t.b = append(t.b, "not known\n"...)
		return
	}
	t.b = typeset.AppendHex(t.b, p.Lo+t.bias, t.digits)
	t.b = append(t.b, " to "...)
	t.b = typeset.AppendHex(t.b, p.Hi+t.bias, t.digits)
	t.b = fmt.Appendf(t.b, " (%s)\n", p.Bounds)
}

// best writes the rule that a walker would try first.
func (t *placeText) best() {
	p := t.p
	t.b = append(t.b, "rule      "...)
	for i := range p.Answers {
		if a := &p.Answers[i]; a.Source == p.Source {
			t.b = fmt.Appendf(t.b, "%s  (%s)\n\n", a.Rules[0].Format(p.Image.Arch), a.Source)
			return
		}
	}
	t.b = append(t.b, "none\n\n"...)
}

func (t *placeText) answer(a *report.Answer) {
	t.b = fmt.Appendf(t.b, "  %-7s ", a.Source)
	if len(a.Rules) == 0 {
		t.b = append(t.b, a.Verdict.String()...)
		t.b = append(t.b, '\n')
	}
	for i := range a.Rules {
		if i > 0 {
			t.b = append(t.b, "          "...)
		}
		t.b = append(append(t.b, a.Rules[i].Format(t.p.Image.Arch)...), ruleRemark(&a.Rules[i])...)
		t.b = append(t.b, '\n')
	}
	for _, n := range a.Notes {
		t.b = append(t.b, "            "...)
		t.line(n)
	}
}

// ruleRemark names a rule's flags.
func ruleRemark(r *rule.Rule) (s string) {
	for _, f := range []struct {
		flag rule.Flags
		name string
	}{
		{rule.SignalFrame, "signal frame"}, {rule.SignedRA, "signed return address"}, {rule.FromEntry, "entry known"},
		{rule.Agreed, "derivations agree"}, {rule.Fallback, "fallback"},
	} {
		if r.Flags&f.flag != 0 {
			s += ", " + f.name
		}
	}
	return s
}
