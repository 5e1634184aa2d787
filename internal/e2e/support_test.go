package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
)

// TestSupport compares SUPPORT.md's tables with what the facade wires together.
func TestSupport(t *testing.T) {
	doc := read(t, "../../SUPPORT.md")
	compare(t, "CPUs", table(doc, "## Processors"), processors())
	var formats []string
	for _, f := range backsight.Formats() {
		formats = append(formats, f.Name)
	}
	compare(t, "formats", firstColumn(table(doc, "## Capture formats")), formats)
	var forms []string
	for _, f := range backsight.TableFormats() {
		forms = append(forms, f.Name)
	}
	compare(t, "forms of tables", firstColumn(table(doc, "## Tables for other programs")), forms)
	compare(t, "unwind sources", firstColumn(table(doc, "## Unwind sources")), backsight.SourceNames())
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s in SUPPORT.md:\n%s\nthe facade has:\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// processors are the rows of the matrix: one per name and ABI, since variants of
// an instruction set (release 6, microMIPS) are described alike.
func processors() (rows []string) {
	for _, a := range backsight.CPUs() {
		_, prstatus := a.Layouts[cpu.LinuxPrstatus]
		_, sigcontext := a.Layouts[cpu.LinuxSigcontext]
		dwarf := slices.ContainsFunc(a.Regs, func(r cpu.RegInfo) bool { return r.DWARF >= 0 })
		order := "little"
		if a.BigEndian {
			order = "big"
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %s | %s | %s |", a.Name, a.ABI, order,
			yes(prstatus), yes(dwarf), yes(a.Decoder != nil), yes(sigcontext), yes(a.FPChain != nil), yes(a.Decoder != nil))
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
	}
	return rows
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "–"
}

// table returns the rows of the first table behind a heading.
func table(doc, heading string) (rows []string) {
	_, doc, _ = strings.Cut(doc, heading+"\n")
	for line := range strings.Lines(doc) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "|"):
			rows = append(rows, line)
		case len(rows) > 2:
			return rows[2:]
		}
	}
	return rows[min(2, len(rows)):]
}

func firstColumn(rows []string) (cells []string) {
	for _, r := range rows {
		cells = append(cells, strings.Trim(strings.SplitN(r, "|", 3)[1], " `"))
	}
	return cells
}
