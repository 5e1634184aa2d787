package score

import (
	"fmt"
	"io"
	"strings"

	"github.com/backsight/backsight/unwind"
)

// TrustTally counts the frames of one trust. Only the first wrong frame of a backtrace
// counts.
type TrustTally struct{ Right, Wrong int }

func (t *TrustTally) add(right bool) {
	t.Right += count(right)
	t.Wrong += count(!right)
}

// Trusts are the tallies of all trusts.
type Trusts [unwind.Certain + 1]TrustTally

func (t *Trusts) add(o *Trusts) {
	for i := range t {
		t[i].Right += o[i].Right
		t[i].Wrong += o[i].Wrong
	}
}

// right is the number of right frames of any trust.
func (t *Trusts) right() (n int) {
	for i := range t {
		n += t[i].Right
	}
	return n
}

// byTrust are the trusts in the order of a table.
var byTrust = [...]unwind.Trust{unwind.Certain, unwind.Likely, unwind.Guess}

// Calibration writes for each row what trust the right frames have, and how many
// frames of each trust are right: frames that are right but not certain are trust
// given away, those that are certain but wrong are lies.
func Calibration(w io.Writer, outcomes []Outcome, by []string) {
	rows := map[string]*Trusts{}
	for i := range outcomes {
		o := &outcomes[i]
		k := o.row(by)
		if rows[k] == nil {
			rows[k] = new(Trusts)
		}
		rows[k].add(&o.Verdict.Trusts)
	}
	head := append([]string{"tier"}, by...)
	head = append(head, "frames right")
	for _, t := range byTrust {
		head = append(head, fmt.Sprintf("of these %v %%", t))
	}
	for _, t := range byTrust {
		head = append(head, fmt.Sprintf("%v: right %%", t), "wrong")
	}
	fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, k := range sortedRows(rows) {
		fmt.Fprintf(w, "| %s |%s\n", k, rows[k].cells())
	}
}

func (t *Trusts) cells() string {
	var b strings.Builder
	all := t.right()
	fmt.Fprintf(&b, " %d |", all)
	for _, i := range byTrust {
		fmt.Fprintf(&b, " %s |", percent(t[i].Right, all))
	}
	for _, i := range byTrust {
		fmt.Fprintf(&b, " %s | %d |", percent(t[i].Right, t[i].Right+t[i].Wrong), t[i].Wrong)
	}
	return b.String()
}

// percent is a share; a share of nothing is a dash.
func percent(part, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%.2f", 100*float64(part)/float64(of))
}
