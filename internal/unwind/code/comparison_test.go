package code

import (
	"fmt"
	"os"
	"testing"

	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/unwind/exception"
	"github.com/backsight/backsight/internal/unwind/sigframe"
	"github.com/backsight/backsight/unwind"
)

// only is a source that gives the answers of one derivation.
type only struct {
	s      *Source
	answer func(d *derivation, q *unwind.Query) []unwind.Rule
}

func (o only) Method() unwind.Method { return unwind.MethodCode }

func (o only) Rule(q *unwind.Query, out *unwind.Rule) unwind.Verdict {
	an := o.s.of(q.Image)
	an.mu.Lock()
	defer an.mu.Unlock()
	p, ok := an.place(q)
	if !ok {
		return unwind.NotCovered
	}
	d := derivation{an: an, place: p}
	rules := o.answer(&d, q)
	switch {
	case d.end:
		return unwind.EndOfStack
	case q.Try >= len(rules):
		return unwind.NotCovered
	}
	*out = rules[q.Try]
	return unwind.Found
}

// forwardOnly answers from function entries.
func forwardOnly(d *derivation, q *unwind.Query) []unwind.Rule {
	if q.HasEntry {
		d.from(q.Entry, d.mode, known)
	} else {
		d.forward()
	}
	return d.result().rules
}

// exitsOnly answers from the ways out.
func exitsOnly(d *derivation, q *unwind.Query) []unwind.Rule {
	if !q.HasEntry && !d.calleeNeverReturns() {
		d.exits = d.an.exits(d.pc, d.mode, !d.exact)
	}
	return d.result().rules
}

// scanOnly is the ABI's method for a function whose start is not known.
func scanOnly(d *derivation, q *unwind.Query) []unwind.Rule {
	if q.HasEntry || d.an.insnSize(d.mode) == 0 {
		return nil
	}
	start, ok := d.an.abiScan(d.place)
	var r unwind.Rule
	if !ok || !d.an.abiFrom(start, d.place, &r) {
		return nil
	}
	r.Flags = 0 // the walker is to judge it like any other
	return []unwind.Rule{r}
}

// boundsOnly is the ABI's method for a function whose start is known: the entry
// from which the control flow reaches the place.
func boundsOnly(d *derivation, q *unwind.Query) []unwind.Rule {
	if q.HasEntry || d.an.insnSize(d.mode) == 0 {
		return nil
	}
	entry, found := uint64(0), false
	d.trace = func(f *function, _ origin, reached bool, _ *unwind.Rule) {
		if reached && !found {
			entry, found = f.entry, true
		}
	}
	d.forward()
	var r unwind.Rule
	if !found || !d.an.abiFrom(entry, d.place, &r) {
		return nil
	}
	r.Flags = 0
	return []unwind.Rule{r}
}

// tally counts chains as score/score.py does.
type tally struct{ chains, whole, wrong, lie int }

func (y *tally) judge(c *captured.Case, frames []unwind.Frame) {
	ok, mode := 0, uint64(0)
	if c.Snapshot.Arch.ISABit {
		mode = 1
	}
	for ok < len(frames) && ok < len(c.Frames) && frames[ok].PC == uint64(c.Frames[ok].PC)&^mode {
		ok++
	}
	y.chains++
	switch {
	case ok == len(c.Frames):
		y.whole++
	case ok < len(frames):
		y.wrong++
		if frames[ok].Trust == unwind.Certain {
			y.lie++
		}
	}
}

func (y *tally) String() string {
	if y.chains == 0 {
		return "–"
	}
	return fmt.Sprintf("%.1f / %.1f / %.1f", 100*float64(y.whole)/float64(y.chains), 100*float64(y.wrong)/float64(y.chains), 100*float64(y.lie)/float64(y.chains))
}

// TestComparison prints what each derivation gets right by itself on the recorded
// chains of naked programs, with the same checks of the walker for all: chains
// that are whole, chains with a wrong frame, and those where it was called certain,
// in percent. DESIGN.md holds the table. It takes minutes: BACKSIGHT_LONG=1.
func TestComparison(t *testing.T) {
	if os.Getenv("BACKSIGHT_LONG") == "" {
		t.Skip("BACKSIGHT_LONG is not set")
	}
	methods := []struct {
		name   string
		answer func(d *derivation, q *unwind.Query) []unwind.Rule
		abi    bool // needs instructions of one size
	}{
		{"ABI, scan", scanOnly, true}, {"ABI, bounds", boundsOnly, true}, {"forward", forwardOnly, false}, {"exits", exitsOnly, false}, {"all", nil, false},
	}
	table := map[string][]tally{}
	var archs []string
	for _, rec := range recorded.Cases(t, "*/*") {
		arch := rec.Arch
		if table[arch] == nil {
			table[arch] = make([]tally, len(methods))
			archs = append(archs, arch)
		}
		cases := captured.Corpus(t, &rec, "naked")
		if len(cases) == 0 {
			continue
		}
		for i, m := range methods {
			s := New(nil)
			if m.abi && s.of(cases[0].Snapshot.Modules[0].Image).insnSize(0) == 0 {
				continue
			}
			var src unwind.Source = s
			if m.answer != nil {
				src = only{s, m.answer}
			}
			for k := range cases {
				c := &cases[k]
				w := unwind.NewWalker(c.Snapshot, unwind.Options{Sources: []unwind.Source{sigframe.Source{}, exception.Source{}, src}, CallGraph: s})
				frames, _ := w.Walk(&c.Snapshot.Threads[0], nil)
				table[arch][i].judge(c, frames)
			}
		}
	}
	head := "| |"
	for _, m := range methods {
		head += " " + m.name + " |"
	}
	t.Log(head)
	for _, a := range archs {
		row := "| " + a + " |"
		for i := range methods {
			row += " " + table[a][i].String() + " |"
		}
		t.Log(row)
	}
}
