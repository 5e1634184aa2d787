package render

import (
	"strings"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// variables writes a frame's arguments and locals, a line each:
//
//	n = 12                          int
//	name = 0x7ffe0010 "eth0"        const char *
//	route = <optimised out>         struct route *
func (t *frameTable) variables(d *report.Details) {
	for i := range d.Variables {
		v := &d.Variables[i]
		s := v.Name + " = " + valueOf(v)
		if v.Inlined != "" {
			s = v.Inlined + ": " + s
		}
		t.line("      " + s + "  (" + variableKind(v) + ")")
	}
}

// maxValue is how long a value in a frame's line is, in letters.
const maxValue = 40

// arguments are those of a frame's function, or of one that was inlined there, as they stand in its line: (n=12, name=0x7ffe0010 "eth0", route=?).
func (t *frameTable) arguments(f *report.Frame, inlined string) string {
	if !t.style.Arguments || f.Details == nil {
		return ""
	}
	var said []string
	for i := range f.Details.Variables {
		v := &f.Details.Variables[i]
		if !v.Argument || v.Inlined != inlined {
			continue
		}
		value := []rune(v.Value)
		switch {
		case v.Missing != "":
			value = []rune("?")
		case len(value) > maxValue:
			value = append(value[:maxValue-1], '…')
		}
		said = append(said, typeset.Text(v.Name)+"="+typeset.Text(string(value)))
	}
	if said == nil {
		return ""
	}
	return "(" + strings.Join(said, ", ") + ")"
}

// variableKind is the variable's type, and whether the caller gave it.
func variableKind(v *report.Variable) string {
	if v.Argument && v.Inlined == "" {
		return "argument, " + v.Type
	}
	return v.Type
}

// valueOf is the value, or why there is none.
func valueOf(v *report.Variable) string {
	if v.Missing != "" {
		return "<" + v.Missing + ">"
	}
	return v.Value
}
