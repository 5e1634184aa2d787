package render

import "github.com/backsight/backsight/report"

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
