package code

import (
	"slices"
	"sync"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// answers are the rules that a source gives for a place, in their order.
func answers(s stackwalk.RuleSource, q stackwalk.Query) (found []string) {
	for q.Try = 0; ; q.Try++ {
		var r stackwalk.Rule
		if s.Rule(&q, &r) != unwind.Found {
			return found
		}
		found = append(found, r.Format(q.Arch))
	}
}

// searched is a source without stack heights, whose answers come first elsewhere.
type searched struct{ *Source }

func (s searched) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	p := s.of(q.Image)
	r := p.search(q).result()
	switch {
	case r.outermost:
		return unwind.EndOfStack
	case r.otherStack:
		return unwind.NoCaller
	case q.Try < len(r.rules):
		*out = r.rules[q.Try]
		return unwind.Found
	}
	return p.fallback(q, r.rules, out)
}

// TestListings asks at every line, with the function's entry known: the first answer of the
// search is the right one.
func TestListings(t *testing.T) {
	for name, l := range fixtures(t) {
		t.Run(name, func(t *testing.T) {
			s, img := searched{New(nil)}, l.image(true)
			for i := range l.lines {
				ll, right := &l.lines[i], true
				l.places(img, ll, func(q *stackwalk.Query, want string) {
					got := answers(s, *q)
					if len(got) > 0 && got[0] == want {
						return
					}
					right = false
					if !ll.beyond {
						t.Errorf("line %d: %x %s: resumed %v\n got %q\nwant %q", ll.number, ll.pc, ll.text, !q.Exact, got, want)
					}
				})
				if right && ll.beyond {
					t.Errorf("line %d: %x %s: a known limit no more", ll.number, ll.pc, ll.text)
				}
			}
		})
	}
}

// TestHeightsSayTheSame: at every line of the listings that a table of stack heights covers,
// the rule out of the table, which is the source's first answer, recovers what the rule out
// of the search does. It may name a slot where that names the register that still holds the
// value.
func TestHeightsSayTheSame(t *testing.T) {
	covered, places := 0, 0
	for name, l := range fixtures(t) {
		s, img := New(nil), l.image(true)
		for i := range l.lines {
			l.places(img, &l.lines[i], func(q *stackwalk.Query, want string) {
				places++
				var first, table, found stackwalk.Rule
				if !s.of(img).proven(q, &table) || l.lines[i].beyond {
					return
				}
				covered++
				if s.Rule(q, &first) != unwind.Found || !first.Equal(&table, l.arch.Preserved) {
					t.Errorf("%s %x: the first answer is not %s", name, q.PC, table.Format(l.arch))
				}
				if (searched{s}).Rule(q, &found) != unwind.Found {
					t.Errorf("%s %x: the table says %s, want %q", name, q.PC, table.Format(l.arch), want)
					return
				}
				all := answers(s, *q)
				for _, a := range answers(searched{s}, *q) {
					if !slices.Contains(all, a) {
						t.Errorf("%s %x: %s is not among the answers %q", name, q.PC, a, all)
					}
				}
				if rel := s.Compare(q, l.entry[0], &found, &table); rel.CFA != stackwalk.Yes || rel.RA != stackwalk.Yes || rel.Regs == stackwalk.No {
					t.Errorf("%s %x, resumed %v: %s, want %s", name, q.PC, !q.Exact, table.Format(l.arch), want)
				}
			})
		}
	}
	t.Logf("%d of %d places", covered, places)
	if covered < places/2 {
		t.Errorf("%d of %d places have a table", covered, places)
	}
}

// TestListedRows: what Rows yields for a listing is what Rule answers there.
func TestListedRows(t *testing.T) {
	for name, l := range fixtures(t) {
		s, img := New(nil), l.image(true)
		end := uint64(0)
		s.Rows(img, nil, func(lo, hi uint64, mode cpu.Mode, row packed.Row) bool {
			if lo < end || hi <= lo || mode != l.mode {
				t.Errorf("%s: a row from %x to %x behind one to %x", name, lo, hi, end)
			}
			end = hi
			i := slices.IndexFunc(l.lines, func(ll line) bool { return ll.pc == lo })
			if i < 0 {
				return true // padding
			}
			var want, got stackwalk.Rule
			q := stackwalk.Query{Image: img, Arch: l.arch, PC: lo, Mode: mode, Exact: true}
			if !row.Packs {
				return true
			}
			row.Rule.Unpack(l.arch, &got)
			if s.Rule(&q, &want) != unwind.Found || !got.Equal(&want, l.arch.Preserved) {
				t.Errorf("%s %x: the row says %s, the answer is %s", name, lo, got.Format(l.arch), want.Format(l.arch))
			}
			return true
		})
	}
}

// TestTablesTellFrames: a table tells of a frame where one of its rows has SP elsewhere than
// on entry.
func TestTablesTellFrames(t *testing.T) {
	for name, l := range fixtures(t) {
		p := New(nil).of(l.image(true))
		for _, e := range l.entry {
			table := p.Heights.Of(disasm.Addr{PC: e, Mode: l.mode})
			if table == nil {
				continue
			}
			moved := false
			for i := range table.Frames {
				moved = moved || table.Frames[i].SP != 0
			}
			if table.MakesFrame != moved {
				t.Errorf("%s %x: a frame made: %t, want %t", name, e, table.MakesFrame, moved)
			}
		}
	}
}

// TestListingsWithoutEntries asks the same where nothing tells that a function begins there:
// only the ways out are left to tell. They cannot know constants that were built above the
// place, and find nothing where nothing returns; what they do answer must be right. Left out
// are listings with tables, whose words look like functions in a program of which nothing
// else is known, and delay slots, which no capture names as its PC.
func TestListingsWithoutEntries(t *testing.T) {
	var right, none, wrong int
	for name, l := range fixtures(t) {
		if len(l.segs) > 1 || len(l.entry) > 2 || l.beyond() {
			continue
		}
		s, img, bare := New(nil), l.image(true), l.image(false)
		for i := range l.lines {
			if i > 0 && l.hasSlot(&l.lines[i-1]) {
				continue
			}
			l.places(bare, &l.lines[i], func(q *stackwalk.Query, want string) {
				var st absint.State
				if !l.stateAt(s.of(img), q, &st) {
					t.Fatalf("%s %x: not reached", name, q.PC)
				}
				var r stackwalk.Rule
				switch {
				case s.Rule(q, &r) != unwind.Found || r.Flags&stackwalk.Fallback != 0:
					none++
				case rules.Agrees(&st, &r, l.arch):
					right++
				default:
					wrong++
					t.Logf("%s %x, resumed %v: %s, want %s", name, q.PC, !q.Exact, r.Format(q.Arch), want)
				}
			})
		}
	}
	t.Logf("ways out alone: right %d, no answer %d, wrong %d", right, none, wrong)
	if all := right + none + wrong; right*100 < all*88 || wrong > 1 {
		t.Errorf("of %d places %d are right and %d are wrong", all, right, wrong)
	}
}

// stateAt is the state at a place by the analysis from the listing's nearest entry that
// comes there.
func (l *fixture) stateAt(p *program, q *stackwalk.Query, st *absint.State) bool {
	at, ok := rules.PointOf(p.Code, q)
	if !ok {
		return false
	}
	for _, e := range slices.Backward(l.entry) {
		if e <= at.Site && at.StateIn(p.Flows.Function(disasm.Addr{PC: e, Mode: l.mode}), st) {
			return true
		}
	}
	return false
}

// TestConcurrent: walkers share what is known of an image.
func TestConcurrent(t *testing.T) {
	l := parseFixture(t, "testdata/mips-switch.txt")
	s, img := New(nil), l.image(true)
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range l.lines {
				ll := &l.lines[(i+n*17)%len(l.lines)]
				l.places(img, ll, func(q *stackwalk.Query, want string) {
					if got := answers(searched{s}, *q); len(got) == 0 || got[0] != want {
						t.Errorf("%x: %q, want %q", ll.pc, got, want)
					}
					var r stackwalk.Rule
					if s.Rule(q, &r) != unwind.Found {
						t.Errorf("%x: no answer, want %q", ll.pc, want)
					}
				})
			}
		})
	}
	all.Wait()
}
