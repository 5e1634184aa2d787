package render

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/disassemble"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// maxText is how wide the column of instructions grows.
const maxText = 32

// listing writes the instructions, what each does to the stack, and its rule where the
// rule changes.
func (t *placeText) listing() {
	p, bias := t.p, t.bias
	effects, texts := make([]string, len(p.Lines)), make([]string, len(p.Lines))
	code, text, wide := 0, 0, 0 // widths of columns
	var printer disassemble.Printer
	for i := range p.Lines {
		l := &p.Lines[i]
		effects[i] = effectOf(p.Image.Arch, l, bias)
		texts[i] = printer.Next(p.Image.Arch, l.Code, l.Addr+bias, p.Mode)
		code, text = max(code, 2*len(l.Code)), max(text, min(len(texts[i]), maxText))
		wide = max(wide, min(utf8.RuneCountInString(effects[i]), maxName))
	}
	t.b = append(t.b, "\ncode"...)
	if p.Source != "" {
		t.b = fmt.Appendf(t.b, ", with the rule before each instruction by %s, where it changes", p.Source)
	}
	t.b = append(t.b, '\n')
	above := ""
	for i := range p.Lines {
		l := &p.Lines[i]
		t.b = append(t.b, mark(l.Addr == p.PC)...)
		t.b = typeset.AppendHex(t.b, l.Addr+bias, t.digits)
		t.b = fmt.Appendf(t.b, "  %-*s  ", code, hex.EncodeToString(l.Code))
		if text > 0 {
			t.b = fmt.Appendf(t.b, "%-*s  ", text, texts[i])
		}
		t.b = append(t.b, effects[i]...)
		rule := ruleOf(p.Image.Arch, l)
		if rule != above && p.Source != "" {
			t.pad(2 + max(0, wide-utf8.RuneCountInString(effects[i])))
			t.b = append(t.b, rule...)
		}
		above = rule
		t.b = append(t.b, '\n')
	}
}

// mark points at the place that was asked about.
func mark(here bool) string {
	if here {
		return "> "
	}
	return "  "
}

// effectOf is what an instruction does, with the name of where it goes.
func effectOf(arch *cpu.Arch, l *report.Line, bias uint64) string {
	s := typeset.Effect(arch, &l.Insn, bias)
	if l.Target == "" {
		return s
	}
	s += " " + brief(l.Target)
	if l.TargetOffset != 0 {
		s += typeset.Offset(l.TargetOffset)
	}
	return s
}

func ruleOf(arch *cpu.Arch, l *report.Line) string {
	if l.HasRule {
		return l.Rule.Format(arch)
	}
	return "no rule"
}

// maxBrief is how much of a name stands in a listing.
const maxBrief = 40

// brief is a name without parameters, which C++ has more of than fit in a line.
func brief(name string) string {
	if i := strings.IndexByte(name, '('); i > 0 {
		name = name[:i]
	}
	if r := []rune(name); len(r) > maxBrief {
		name = string(r[:maxBrief]) + "…"
	}
	return typeset.Text(name)
}
