package render

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// excerpts writes the variables, the source lines and the instructions around a frame, where they were
// asked for.
func (t *frameTable) excerpts(f *report.Frame) {
	d := f.Details
	if d == nil {
		return
	}
	if !t.style.Arguments {
		t.variables(d)
	}
	for i := range d.Source {
		l := &d.Source[i]
		t.line(fmt.Sprintf("      %s%5d  %s", mark(l.Here), l.Number, expanded(l.Text)))
	}
	for i := range d.Code {
		c := &d.Code[i]
		t.b = append(append(t.b, "      "...), mark(c.Here)...)
		t.b = typeset.AppendHex(t.b, c.Addr, t.digits)
		t.line(fmt.Sprintf("  %-16s  %s", hex.EncodeToString(c.Bytes), instructionText(t.arch, c)))
	}
}

// expanded is a source line with spaces for tabs: a tab is a control character, which would be
// written as an escape.
func expanded(line string) string { return strings.ReplaceAll(line, "\t", "    ") }

// instructionText is the instruction in assembly or, for a CPU without a disassembler, its
// effect in words.
func instructionText(arch *cpu.Arch, c *report.Instruction) string {
	if c.Text != "" {
		return c.Text
	}
	return "; " + typeset.Effect(arch, &c.Insn, 0)
}

// modules lists the binaries: where they are mapped, their build IDs, which files were
// used, and which are missing.
func (t *text) modules(s *target.Snapshot) {
	t.b = append(t.b, "\nModules\n"...)
	for _, m := range s.Modules {
		t.b = typeset.AppendHex(t.b, m.Lo, t.digits)
		t.b = append(t.b, '-')
		t.b = typeset.AppendHex(t.b, m.Hi, t.digits)
		id, file := m.BuildID, "not found: see --sysroot, --exe, --debuginfod"
		if m.Image != nil {
			id, file = m.Image.BuildID, m.Image.Path
		}
		if file == m.Name {
			file = "found there"
		}
		t.line(fmt.Sprintf("  %s  %s  %s", orNone(hex.EncodeToString(id)), typeset.OrUnknown(m.Name), file))
	}
}

func orNone(id string) string {
	if id == "" {
		return "no build ID"
	}
	return id
}
