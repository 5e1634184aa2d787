package score

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/backsight/backsight/unwind"
)

// Row sums the outcomes of one group.
type Row struct {
	N                           int
	Whole, Wrong, Lie, Short    int
	OK, Frames, CFAOK, CFAs     int
	Time                        time.Duration
	PeerN, PeerWhole, PeerWrong int
}

// Add counts one outcome.
func (r *Row) Add(o *Outcome) {
	v := &o.Verdict
	r.N++
	r.Whole += count(v.Whole)
	r.Wrong += count(v.Wrong)
	r.Lie += count(v.Lie)
	r.Short += count(v.Short)
	r.OK, r.Frames, r.CFAOK, r.CFAs = r.OK+v.OK, r.Frames+v.Frames, r.CFAOK+v.CFAOK, r.CFAs+v.CFAs
	r.Time += o.Time
	if o.Peer != nil {
		r.PeerN++
		r.PeerWhole += count(o.Peer.Whole)
		r.PeerWrong += count(o.Peer.Wrong)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Columns are the figures of a row, in per cent, in the order of a table.
var Columns = [...]string{"whole", "frames", "wrong", "lie", "short", "cfa"}

// Figures are the values of Columns.
func (r *Row) Figures() (f [len(Columns)]float64) {
	per := func(a, b int) float64 {
		if b == 0 {
			return 0
		}
		return 100 * float64(a) / float64(b)
	}
	return [...]float64{per(r.Whole, r.N), per(r.OK, r.Frames), per(r.Wrong, r.N), per(r.Lie, r.N), per(r.Short, r.N), per(r.CFAOK, r.CFAs)}
}

// Keys are the words that rows can be grouped by.
var Keys = []string{"group", "arch", "compiler", "opt", "prog", "kind"}

// key is an outcome's value of one of Keys.
func (o *Outcome) key(name string) string {
	switch name {
	case "group":
		return o.Case.Group
	case "arch":
		return o.Case.Arch
	case "compiler":
		return o.Case.Compiler
	case "opt":
		return o.Case.Opt
	case "prog":
		if o.Answer.Prog != "" {
			return o.Answer.Prog
		}
		return o.Case.Prog
	case "kind":
		if o.Answer.Kind == "" {
			return "?"
		}
		return o.Answer.Kind
	}
	return ""
}

// Group sums outcomes by tier and keys. The key of a row is its cells, joined by
// " | ".
func Group(outcomes []Outcome, by []string) map[string]*Row {
	rows := map[string]*Row{}
	for i := range outcomes {
		o := &outcomes[i]
		k := o.row(by)
		if rows[k] == nil {
			rows[k] = new(Row)
		}
		rows[k].Add(o)
	}
	return rows
}

// row is the key of the row that an outcome belongs to.
func (o *Outcome) row(by []string) string {
	cells := []string{o.Tier}
	for _, k := range by {
		cells = append(cells, o.key(k))
	}
	return strings.Join(cells, " | ")
}

// sortedRows are the keys of rows in the order of a table.
func sortedRows[T any](rows map[string]T) []string {
	return slices.SortedFunc(maps.Keys(rows), func(a, b string) int {
		return slices.Compare(strings.Split(a, " | "), strings.Split(b, " | "))
	})
}

// Table writes the rows. timed adds the milliseconds of a backtrace, which depend
// on the machine; GDB's columns are there when it was asked.
func Table(w io.Writer, outcomes []Outcome, by []string, timed bool) {
	rows := Group(outcomes, by)
	peer := slices.ContainsFunc(outcomes, func(o Outcome) bool { return o.Peer != nil })
	head := append([]string{"tier"}, by...)
	head = append(head, "n")
	for _, c := range Columns {
		head = append(head, c+" %")
	}
	if timed {
		head = append(head, "ms")
	}
	if peer {
		head = append(head, "GDB whole %", "GDB wrong %")
	}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, k := range sortedRows(rows) {
		r := rows[k]
		fmt.Fprintf(w, "| %s | %d |", k, r.N)
		for _, f := range r.Figures() {
			fmt.Fprintf(w, " %.1f |", f)
		}
		if timed {
			fmt.Fprintf(w, " %.3f |", r.Time.Seconds()*1000/float64(r.N))
		}
		if peer {
			n := float64(max(1, r.PeerN))
			fmt.Fprintf(w, " %.1f | %.1f |", 100*float64(r.PeerWhole)/n, 100*float64(r.PeerWrong)/n)
		}
		fmt.Fprintln(w)
	}
}

// Methods writes how the frames were found, by tier, and how right each way is.
func Methods(w io.Writer, outcomes []Outcome) {
	type key struct {
		tier string
		m    unwind.Method
	}
	sums := map[key]*MethodTally{}
	for i := range outcomes {
		o := &outcomes[i]
		for m := range o.Verdict.Methods {
			t := &o.Verdict.Methods[m]
			if *t == (MethodTally{}) {
				continue
			}
			k := key{o.Tier, unwind.Method(m)}
			if sums[k] == nil {
				sums[k] = new(MethodTally)
			}
			s := sums[k]
			s.Right, s.Certain, s.Wrong, s.Lies = s.Right+t.Right, s.Certain+t.Certain, s.Wrong+t.Wrong, s.Lies+t.Lies
		}
	}
	fmt.Fprint(w, "| tier | source | frames right | of these certain % | wrong | certain and wrong |\n|---|---|---|---|---|---|\n")
	keys := slices.SortedFunc(maps.Keys(sums), func(a, b key) int {
		if c := strings.Compare(a.tier, b.tier); c != 0 {
			return c
		}
		return int(a.m) - int(b.m)
	})
	for _, k := range keys {
		s := sums[k]
		fmt.Fprintf(w, "| %s | %v | %d | %.1f | %d | %d |\n", k.tier, k.m, s.Right, 100*float64(s.Certain)/float64(max(1, s.Right)), s.Wrong, s.Lies)
	}
}

// Meets tells whether a column keeps a limit: a minimum for what is right, a
// maximum for wrong, lie and short.
func (r *Row) Meets(column string, limit float64) bool {
	for i, c := range Columns {
		if c != column {
			continue
		}
		f := r.Figures()[i]
		if c == "wrong" || c == "lie" || c == "short" {
			return f <= limit
		}
		return f >= limit
	}
	return false
}
