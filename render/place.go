package render

import (
	"encoding/hex"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/unwind"
)

// Place is what there is to say about an address of a binary: its unwind rule by
// every source, and the code around. Addresses are image addresses.
type Place struct {
	Image *image.Image
	// Bias is added to addresses when they are shown.
	Bias uint64
	PC   uint64
	Mode cpu.Mode
	// Call: PC is a return address.
	Call     bool
	Location symbol.Location
	// Lo and Hi bound the function; Bounds says how they are known, "" if not.
	Lo, Hi  uint64
	Bounds  string
	Answers []Answer
	// Source has the best answer, and the rules of Lines.
	Source string
	Lines  []Line
}

// Answer is what one source says: its rules in the order of trial, and what it
// says after them.
type Answer struct {
	Source  string
	Rules   []unwind.Rule
	Verdict unwind.Verdict
	// Notes say how it came to them.
	Notes []string
}

// Line is one instruction and the rule before it.
type Line struct {
	Addr    uint64
	Code    []byte
	Insn    cpu.Insn
	Rule    unwind.Rule
	HasRule bool
	// Target names the function that a call or jump goes to.
	Target       string
	TargetOffset uint64
}

// AppendPlace appends a place for people.
func AppendPlace(dst []byte, p *Place, style Style) []byte {
	t := text{b: dst, style: style, digits: 2 * p.Image.Arch.AddrSize}
	t.place(p)
	t.b = append(t.b, "sources\n"...)
	for i := range p.Answers {
		t.answer(p.Image.Arch, &p.Answers[i])
	}
	if len(p.Lines) > 0 {
		t.listing(p)
	}
	return t.b
}

// place writes where it is and what the rule is.
func (t *text) place(p *Place) {
	arch := p.Image.Arch
	t.b = append(t.b, "binary    "...)
	t.b = appendText(t.b, p.Image.Path)
	t.b = fmt.Appendf(t.b, ", %s\n", input.Describe(arch))
	t.b = append(t.b, "place     "...)
	t.b = appendHex(t.b, p.PC+p.Bias, t.digits)
	l := &p.Location
	if l.Function != "" {
		t.b = append(t.b, "  "...)
		t.colored(bold, l.Function+offset(p.PC-l.Entry))
	}
	if l.File != "" {
		t.b = append(append(t.b, "  "...), place(l.File, l.Dir, l.Line)...)
	}
	if p.Call {
		t.b = append(t.b, " (after the call before it)"...)
	}
	t.b = append(t.b, "\nfunction  "...)
	if p.Bounds == "" {
		t.b = append(t.b, "not known\n"...)
	} else {
		t.b = appendHex(t.b, p.Lo+p.Bias, t.digits)
		t.b = append(t.b, " to "...)
		t.b = appendHex(t.b, p.Hi+p.Bias, t.digits)
		t.b = fmt.Appendf(t.b, " (%s)\n", p.Bounds)
	}
	t.b = append(t.b, "rule      "...)
	for i := range p.Answers {
		if a := &p.Answers[i]; a.Source == p.Source {
			t.b = fmt.Appendf(t.b, "%s  (%s)\n\n", a.Rules[0].Format(arch), a.Source)
			return
		}
	}
	t.b = append(t.b, "none\n\n"...)
}

func (t *text) answer(arch *cpu.Arch, a *Answer) {
	t.b = fmt.Appendf(t.b, "  %-6s  ", a.Source)
	if len(a.Rules) == 0 {
		t.b = append(t.b, a.Verdict.String()...)
		t.b = append(t.b, '\n')
	}
	for i := range a.Rules {
		if i > 0 {
			t.b = append(t.b, "          "...)
		}
		t.b = append(append(t.b, a.Rules[i].Format(arch)...), ruleRemark(&a.Rules[i])...)
		t.b = append(t.b, '\n')
	}
	for _, n := range a.Notes {
		t.b = append(t.b, "            "...)
		t.line(n)
	}
}

// ruleRemark names a rule's flags.
func ruleRemark(r *unwind.Rule) (s string) {
	for _, f := range []struct {
		flag unwind.RuleFlags
		name string
	}{
		{unwind.SignalFrame, "signal frame"}, {unwind.SignedRA, "signed return address"}, {unwind.FromEntry, "entry known"},
		{unwind.Agreed, "derivations agree"}, {unwind.Fallback, "fallback"},
	} {
		if r.Flags&f.flag != 0 {
			s += ", " + f.name
		}
	}
	return s
}

// listing writes the instructions beside their rules.
func (t *text) listing(p *Place) {
	arch := p.Image.Arch
	effects := make([]string, len(p.Lines))
	bytes, wide := 0, 0
	for i := range p.Lines {
		l := &p.Lines[i]
		effects[i] = Effect(arch, &l.Insn, p.Bias)
		if l.Target != "" {
			effects[i] += " " + brief(l.Target)
			if l.TargetOffset != 0 {
				effects[i] += offset(l.TargetOffset)
			}
		}
		bytes, wide = max(bytes, 2*len(l.Code)), max(wide, min(utf8.RuneCountInString(effects[i]), maxName))
	}
	t.b = append(t.b, "\ncode"...)
	if p.Source != "" {
		t.b = fmt.Appendf(t.b, ", with the rule before each instruction by %s, where it changes", p.Source)
	}
	t.b = append(t.b, '\n')
	above := ""
	for i := range p.Lines {
		l := &p.Lines[i]
		mark := "  "
		if l.Addr == p.PC {
			mark = "> "
		}
		t.b = append(t.b, mark...)
		t.b = appendHex(t.b, l.Addr+p.Bias, t.digits)
		t.b = fmt.Appendf(t.b, "  %-*s  %s", bytes, hex.EncodeToString(l.Code), effects[i])
		rule := "no rule"
		if l.HasRule {
			rule = l.Rule.Format(arch)
		}
		if rule != above && p.Source != "" {
			t.pad(2 + max(0, wide-utf8.RuneCountInString(effects[i])))
			t.b = append(t.b, rule...)
		}
		above = rule
		t.b = append(t.b, '\n')
	}
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
	return Text(name)
}
