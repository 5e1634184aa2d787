package diff

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/typeset"
)

// Table writes the results, a row a file: coverage is the share of places with an
// answer, precision the share of right ones among the answers that can be
// decided, agreement the share of right ones among all places. Places where the table contradicts the code
// itself are in no other column than the last.
func Table(w io.Writer, rs []*Result) {
	fmt.Fprintln(w, "| CPU | file | table | functions | places | coverage % | precision % | agreement % | wrong: flow | pad | part | open | none | registers | denied |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rs {
		t := r.Total()
		fmt.Fprintf(w, "| %s | %s | %v | %d | %d | %s | %d | %d | %d | %d | %d | %d | %d |\n", archName(r.Arch), filepath.Base(r.Path), r.Reference,
			r.Functions, t.Places, t.percentages(), r.Wrong[Flow], r.Wrong[Pad], r.Wrong[Part], t.Open, t.None, t.Regs, r.Denied)
	}
}

// Situations writes one result by where the places stand.
func (r *Result) Situations(w io.Writer) {
	fmt.Fprintln(w, "| situation | places | coverage % | precision % | agreement % | wrong | open | none |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|")
	for s := range Situations {
		t := &r.By[s]
		fmt.Fprintf(w, "| %v | %d | %s | %d | %d | %d |\n", s, t.Places, t.percentages(), t.Wrong, t.Open, t.None)
	}
}

func (t *Tally) percentages() string {
	return fmt.Sprintf("%s | %s | %s", percent(t.Places-t.None, t.Places), percent(t.Agree, t.Agree+t.Wrong), percent(t.Agree, t.Places))
}

func percent(a, b int) string {
	if b == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", 100*float64(a)/float64(b))
}

// Show writes a disagreement with the instructions around it.
func (r *Result) Show(w io.Writer, d *Disagreement) {
	fmt.Fprintf(w, "%s %#x %v ×%d %v %v in %#x-%#x %s\n  table   %s\n  subject %s\n", filepath.Base(r.Path), d.Place, d.Verdict, d.Places, d.Situation, d.Kind,
		d.Lo, d.Hi, d.Function,
		d.Table.Format(r.Arch), d.Subject.Format(r.Arch))
	r.explain(w, d)
	const before, after = 14, 14
	var window []string
	at, behind := -1, 0
	r.instructions(d, func(pc uint64, in *cpu.Insn) bool {
		mark := " "
		if pc == d.Place {
			mark, at = ">", len(window)
		}
		window = append(window, fmt.Sprintf("  %s %#x  %s", mark, pc, typeset.Effect(r.Arch, in, 0)))
		if at >= 0 {
			behind++
		}
		return behind <= after
	})
	for _, line := range window[max(0, at-before):] {
		fmt.Fprintln(w, line)
	}
}

// explain writes how code analysis came to its answers.
func (r *Result) explain(w io.Writer, d *Disagreement) {
	e := r.code.Explain(&d.query)
	for _, f := range e.Forward {
		rule := "no rule"
		if f.HasRule {
			rule = f.Rule.Format(r.Arch)
		}
		fmt.Fprintf(w, "  from %#x to %#x %s reached=%t complete=%t balanced=%t unbalanced=%t %.60s\n", f.Entry, f.End, f.Origin,
			f.Reached, f.Complete, f.Balanced, f.Unbalanced, rule)
	}
	for _, x := range e.Exits {
		fmt.Fprintf(w, "  exit behind %d calls tail=%t confirmed=%t %.60s\n", x.Calls, x.Tail, x.Confirmed, x.Rule.Format(r.Arch))
	}
}

// instructions visits those of the disagreement's function in order.
func (r *Result) instructions(d *Disagreement, visit func(pc uint64, in *cpu.Insn) bool) {
	var buf [64]cpu.Insn
	for pc := d.Lo &^ uint64(d.Mode); pc < d.Hi; {
		n := r.Arch.Decoder.Decode(r.img.Segments.Code(pc), pc, d.Mode, buf[:])
		for i := range n {
			if !visit(pc, &buf[i]) {
				return
			}
			pc += uint64(buf[i].Len)
		}
		if n == 0 {
			return
		}
	}
}

// archName is the CPU with what tells its variants apart.
func archName(a *cpu.Arch) string {
	s := a.Name
	if a.ABI != "" {
		s += " " + a.ABI
	}
	if a.BigEndian {
		s += " big-endian"
	}
	return s
}
