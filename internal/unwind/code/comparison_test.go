package code

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/edges"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/unwind/exception"
	"github.com/backsight/backsight/internal/unwind/sigframe"
	"github.com/backsight/backsight/unwind"
)

// only is a source that gives the answers of one derivation.
type only struct {
	*Source
	derive func(s *search, q *stackwalk.Query)
}

func (o only) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	p := o.of(q.Image)
	at, ok := rules.PointOf(p.Code, q)
	if !ok {
		return unwind.NotCovered
	}
	s := &search{prog: p, at: at, most: maxSteps}
	o.derive(s, q)
	r := s.result()
	switch {
	case r.outermost:
		return unwind.EndOfStack
	case q.Try >= len(r.rules):
		return unwind.NotCovered
	}
	*out = r.rules[q.Try]
	return unwind.Found
}

// forwardOnly derives from function entries.
func forwardOnly(s *search, q *stackwalk.Query) {
	if q.HasEntry {
		s.from(disasm.Addr{PC: q.Entry, Mode: q.Mode}, known)
	} else {
		s.fromEntries()
	}
}

// waysOutOnly derives from the ways out.
func waysOutOnly(s *search, q *stackwalk.Query) {
	if q.HasEntry || s.calleeNeverReturns() {
		return
	}
	for _, path := range s.prog.Flows.ReturnPaths(s.at.Addr(), !s.at.Exact) {
		s.ways = append(s.ways, wayOut{ReturnPath: path, rule: rules.FromPath(&path, s.prog.Arch)})
	}
}

// scanOnly is the ABI's method for a function whose start is not known.
func scanOnly(s *search, q *stackwalk.Query) {
	var r stackwalk.Rule
	if !q.HasEntry && rules.ABIScan(s.prog.Flows, s.at, &r) {
		s.take(r)
	}
}

// boundsOnly is the ABI's method for a function whose start is known: the first entry from
// which control comes to the place.
func boundsOnly(s *search, q *stackwalk.Query) {
	if q.HasEntry {
		return
	}
	entries := *s
	entries.fromEntries()
	for _, a := range entries.tried {
		var r stackwalk.Rule
		if !a.reached {
			continue
		}
		if rules.ABIFrom(s.prog.Flows, a.fn.Entry.PC, s.at, &r) {
			s.take(r)
		}
		return
	}
}

// take makes a rule the only answer, for the walker to judge like any other.
func (s *search) take(r stackwalk.Rule) {
	r.Flags = 0
	s.forward = []*candidate{{Rule: r}}
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
	percent := func(n int) float64 { return 100 * float64(n) / float64(y.chains) }
	return fmt.Sprintf("%.1f / %.1f / %.1f", percent(y.whole), percent(y.wrong), percent(y.lie))
}

// derivations are the columns of the table.
var derivations = []struct {
	name   string
	derive func(s *search, q *stackwalk.Query) // nil: all of them, as the walker uses them
	abi    bool                                // needs instructions of one size
}{
	{"ABI, scan", scanOnly, true}, {"ABI, bounds", boundsOnly, true}, {"forward", forwardOnly, false}, {"exits", waysOutOnly, false}, {"all", nil, false},
}

// compare counts what each derivation gets right of the captures of one program.
func compare(cases []captured.Case, row []tally) {
	for i, d := range derivations {
		s := New(nil)
		if d.abi && s.of(cases[0].Snapshot.Modules[0].Image).InsnSize(0) == 0 {
			continue
		}
		var src stackwalk.Source = s
		if d.derive != nil {
			src = only{s, d.derive}
		}
		for k := range cases {
			c := &cases[k]
			w := stackwalk.NewWalker(c.Snapshot, stackwalk.Options{Sources: []stackwalk.Source{sigframe.Source{}, exception.Source{}, src}, CallGraph: edges.New(nil)})
			frames, _ := w.Walk(&c.Snapshot.Threads[0], nil)
			row[i].judge(c, frames)
		}
	}
}

// TestComparison prints what each derivation gets right by itself on the recorded chains of
// naked programs, with the same checks of the walker for all: chains that are whole, chains
// with a wrong frame, and those where the wrong frame was called certain, in percent.
// DESIGN.md holds the table. It takes minutes: BACKSIGHT_LONG=1. What holds for each
// processor, on some captures: all derivations together find no less than any one of them,
// and no wrong frame is called certain.
func TestComparison(t *testing.T) {
	long := os.Getenv("BACKSIGHT_LONG") != ""
	table := map[string][]tally{}
	var archs []string
	for _, rec := range recorded.Cases(t, "*/*") {
		if table[rec.Arch] != nil && !long {
			continue
		}
		cases := captured.Corpus(t, &rec, "naked")
		if len(cases) == 0 {
			continue
		}
		if table[rec.Arch] == nil {
			table[rec.Arch] = make([]tally, len(derivations))
			archs = append(archs, rec.Arch)
		}
		if !long {
			cases = cases[:min(len(cases), 4)]
		}
		compare(cases, table[rec.Arch])
	}
	head := "| |"
	for _, d := range derivations {
		head += " " + d.name + " |"
	}
	t.Log(head)
	for _, a := range archs {
		row := []string{"| " + a}
		all := table[a][len(derivations)-1]
		for i := range derivations {
			row = append(row, table[a][i].String())
			if y := table[a][i]; y.lie > 0 || y.whole > all.whole {
				t.Errorf("%s, %s: %d of %d chains are whole, %d wrong frames are called certain", a, derivations[i].name, y.whole, y.chains, y.lie)
			}
		}
		t.Log(strings.Join(row, " | ") + " |")
	}
}
