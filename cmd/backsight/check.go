//go:build !small

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/internal/unwind/lint"
	"io"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/internal/visible"
)

// checked compares the tables of a binary with its code, and says where they are wrong. The exit code is
// exitIncomplete where they are.
func (o *tableOptions) checked(ctx context.Context, stdout io.Writer, p *progress, path string) error {
	if o.format != "" && o.format != "json" {
		return fmt.Errorf("--check writes text or, with --format json, JSON; not %s", o.format)
	}
	if o.section != "" || o.output != "" || len(o.sources) > 0 {
		return errors.New("--check reads the tables that the binary has: no -o, --sources, --add-section")
	}
	img, closed, err := o.image(ctx, p.warn, path)
	if err != nil {
		return err
	}
	defer closed()
	stop := p.while("comparing the tables of " + displayName(path) + " with its code")
	r, err := study.CheckTables(ctx, img, nil)
	stop()
	if err != nil {
		return &failure{exitNone, fmt.Errorf("%s: %w", path, err)}
	}
	if r.Issue != "" {
		p.warn(path + ": " + r.Issue)
	}
	write := writeFindings
	if o.format == "json" {
		write = writeFindingsJSON
	}
	if err := write(stdout, path, img, r); err != nil {
		return outputFailed(err)
	}
	if len(r.Findings) > 0 {
		return &failure{code: exitIncomplete}
	}
	return nil
}

// sure is how sure a finding is, in the words of backtraces.
func sure(f *lint.Finding) string {
	if f.Certain {
		return "certain"
	}
	return "likely"
}

// nameAt is the symbol of an address with the distance from it, "" where none is known.
func nameAt(img *image.Image, addr uint64) string {
	sym, ok := img.Symbols.At(addr)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s+%#x", sym.Name, addr-sym.Addr)
}

// against says in words what speaks against a table.
func against(evidence string) string {
	switch evidence {
	case "sp":
		return "the instruction before moves SP, the row stays"
	case "return":
		return "by SP's way to a return"
	case "analysis":
		return "by the code of the function"
	}
	return ""
}

// writeFindings writes a paragraph for each finding, and what was compared.
func writeFindings(w io.Writer, _ string, img *image.Image, r *lint.Report) error {
	out := bufio.NewWriter(w)
	for i := range r.Findings {
		f := &r.Findings[i]
		fmt.Fprintf(out, "%#x to %#x  ", f.Lo, f.Hi)
		if name := nameAt(img, f.Lo); name != "" {
			fmt.Fprintf(out, "%s  ", typeset.Text(name))
		}
		fmt.Fprintf(out, "%s, %s\n", sure(f), against(f.Evidence.String()))
		fmt.Fprintf(out, "  table  %s\n  code   %s\n", f.Table, f.Code)
	}
	fmt.Fprintf(out, "%s: %d functions, %d places; wrong %d, undecided %d, unreadable %d\n",
		r.Table, r.Functions, r.Places, len(r.Findings), r.Open, r.Unreadable)
	return out.Flush()
}

// checkJSON is what --check writes with --format json.
type checkJSON struct {
	Image      string        `json:"image"`
	Table      string        `json:"table"`
	Functions  int           `json:"functions"`
	Places     int           `json:"places"`
	Undecided  int           `json:"undecided"`
	Unreadable int           `json:"unreadable"`
	Issue      string        `json:"issue,omitempty"`
	Findings   []findingJSON `json:"findings"`
}

type findingJSON struct {
	Start    string `json:"start"`
	End      string `json:"end"`
	Function string `json:"function"`       // where the table's function begins
	Name     string `json:"name,omitempty"` // symbol+offset of start
	Trust    string `json:"trust"`
	Evidence string `json:"evidence"`
	Table    string `json:"table"`
	Code     string `json:"code"`
}

func writeFindingsJSON(w io.Writer, path string, img *image.Image, r *lint.Report) error {
	out := checkJSON{path, r.Table.String(), r.Functions, r.Places, r.Open, r.Unreadable, r.Issue, []findingJSON{}}
	hex := func(v uint64) string { return fmt.Sprintf("%#x", v) }
	for i := range r.Findings {
		f := &r.Findings[i]
		out.Findings = append(out.Findings,
			findingJSON{hex(f.Lo), hex(f.Hi), hex(f.Function), nameAt(img, f.Lo), sure(f), f.Evidence.String(), f.Table, f.Code})
	}
	b, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return err
	}
	_, err = w.Write(append(visible.JSON(b), '\n'))
	return err
}
