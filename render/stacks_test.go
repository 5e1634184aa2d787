//go:build !small

package render_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/unwind"
	"github.com/google/pprof/profile"
)

// count counts the stacks of a report's threads, whose frames are told apart by their names, too.
func count(s *display.Stacks, r *report.Report) {
	for i := range r.Threads {
		var numbers []uint32
		for k := range r.Threads[i].Frames {
			numbers = append(numbers, s.Learn(&r.Threads[i].Frames[k], false))
		}
		s.Count(r.Snapshot, numbers)
	}
}

// counted are the stacks of three captures, of which two are equal, and of one without a backtrace.
func counted(t *testing.T) *display.Stacks {
	var s display.Stacks
	other := sample(t)
	other.Threads[0].Frames[0].Function = "a;b\x1b"
	for _, r := range []*report.Report{sample(t), {}, sample(t), other} {
		count(&s, r)
	}
	return &s
}

// TestFolded: equal stacks of several captures are counted, outermost first; an inlined
// function is a place of its own, a guess has its mark, and nothing in a name separates.
func TestFolded(t *testing.T) {
	s := counted(t)
	const callers = "firmware.elf;firmware.elf+0x52d0?;firmware.elf+0x1284;mybacktrace;leaf;"
	want := callers + "hello 2\n" + callers + `a:b\x1b 1` + "\n"
	var got, none strings.Builder
	if err := s.WriteFolded(&got); err != nil || got.String() != want {
		t.Errorf("%v, got\n%swant\n%s", err, got.String(), want)
	}
	if err := new(display.Stacks).WriteFolded(&none); err != nil || none.Len() > 0 {
		t.Errorf("%v, no stacks: %q", err, none.String())
	}
}

// TestPprof: the profile has each name once, and its one sample is what was counted.
func TestPprof(t *testing.T) {
	var s display.Stacks
	count(&s, sample(t))
	count(&s, sample(t))
	b, err := s.AppendPprof(nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := profile.ParseData(b)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Sample) != 1 || p.Sample[0].Value[0] != 2 || len(p.Function) != 5 {
		t.Fatalf("%v", p)
	}
	var names []string
	for _, l := range p.Sample[0].Location {
		names = append(names, l.Line[0].Function.Name)
	}
	const want = "hello leaf mybacktrace firmware.elf+0x1284 firmware.elf+0x52d0?"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestFlame: a node for each function below those that called it, as wide as its share; names are escaped.
func TestFlame(t *testing.T) {
	got := string(counted(t).AppendFlame(nil, "Toy <1>"))
	for _, want := range []string{
		"<h1>Toy &lt;1&gt;</h1>", "<span>3 stacks</span> <span>2 different ones</span>",
		`style="width:100.00%" data-n="3"><button class="c1" title="mybacktrace (3, 100.00 %) /lib/firmware.elf">mybacktrace</button>`,
		`style="width:66.67%" data-n="2"`, `style="width:33.33%" data-n="1"`, `class="guess" title="firmware.elf+0x52d0? (3,`, `a:b\x1b`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
	if n := strings.Count(got, "<div"); n != strings.Count(got, "</div>") {
		t.Errorf("%d elements begin, %d end", n, strings.Count(got, "</div>"))
	}
}

// TestNumbers: a frame is named when its place comes first; a place's number is found again, but not that of a frame that waits, a
// guess, or a name that a capture lists.
func TestNumbers(t *testing.T) {
	var s display.Stacks
	f := sample(t).Threads[0].Frames[1]
	find := func(f unwind.Frame) uint32 { return s.Find(nil, slices.Values([]*unwind.Frame{&f}))[0] }
	if n := find(*f.Frame); n != 0 {
		t.Errorf("%d before anything was learnt", n)
	}
	listed := s.Learn(&f, false)
	if n := find(*f.Frame); n != 0 {
		t.Errorf("%d: the name is the capture's", n)
	}
	n := s.Learn(&f, true)
	if again := s.Learn(&f, true); n == 0 || n == listed || again != n || find(*f.Frame) != n {
		t.Errorf("%d, then %d, found %d", n, again, find(*f.Frame))
	}
	other := *f.Frame
	if other.Exact = !other.Exact; find(other) != 0 {
		t.Error("a frame that was interrupted there has another place's name")
	}
	s.Count(sample(t).Snapshot, []uint32{n, listed}, nil, []uint32{listed, n})
	var got strings.Builder
	if err := s.WriteFolded(&got); err != nil || got.String() != "firmware.elf;mybacktrace;leaf;mybacktrace;leaf 2\n" {
		t.Errorf("%v, %q: names, not places, make stacks different; none is empty", err, got.String())
	}
}
