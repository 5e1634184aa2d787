package render

import (
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
)

// viewVariables shows a frame's arguments and locals.
func viewVariables(d *report.Details) (out []variableView) {
	for i := range d.Variables {
		v := &d.Variables[i]
		name := v.Name
		if v.Inlined != "" {
			name = v.Inlined + ": " + name
		}
		out = append(out, variableView{typeset.Text(name), typeset.Text(variableKind(v)), typeset.Text(valueOf(v))})
	}
	return out
}

// viewExcerpt shows the source lines and the instructions around a frame.
func viewExcerpt(arch *cpu.Arch, d *report.Details, digits int) (out []lineView) {
	for i := range d.Source {
		l := &d.Source[i]
		out = append(out, lineView{typeset.Text(fmt.Sprintf("%s%5d  %s", mark(l.Here), l.Number, expanded(l.Text))), l.Here})
	}
	for i := range d.Code {
		c := &d.Code[i]
		out = append(out, lineView{typeset.Text(mark(c.Here) + address(c.Addr, digits) + "  " + instructionText(arch, c)), c.Here})
	}
	return out
}
