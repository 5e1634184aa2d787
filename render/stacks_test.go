//go:build !small

package render_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
	"github.com/google/pprof/profile"
)

// count counts the stacks of a report's threads, whose frames are told apart by their names, too.
func count(t *testing.T, s *display.Stacks, r *report.Report) {
	for i := range r.Threads {
		var numbers []uint32
		for k := range r.Threads[i].Frames {
			numbers = append(numbers, s.Learn(&r.Threads[i].Frames[k], true))
		}
		s.Count(r.Snapshot, numbers)
	}
	if err := s.Name(t.Context(), nil); err != nil {
		t.Error(err)
	}
}

// counted are the stacks of three captures, of which two are equal, and of one without a backtrace.
func counted(t *testing.T) *display.Stacks {
	var s display.Stacks
	other := sample(t)
	other.Threads[0].Frames[0].Function = "a;b\x1b"
	for _, r := range []*report.Report{sample(t), {}, sample(t), other} {
		count(t, &s, r)
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

// TestEvents: how often a recording has a stack for one event says nothing of another event. Folded stacks and flame graphs have the events' names
// above all, pprof a value for each.
func TestEvents(t *testing.T) {
	var s display.Stacks
	for _, event := range []string{"cpu-clock", "page-faults", "cpu-clock"} {
		r := sample(t)
		r.Snapshot.Threads[0].Moment = &target.Moment{Event: event}
		count(t, &s, r)
	}
	var got strings.Builder
	if err := s.WriteFolded(&got); err != nil || strings.Count(got.String(), "\n") != 2 ||
		!strings.HasPrefix(got.String(), "cpu-clock;firmware.elf;") || !strings.Contains(got.String(), "hello 2\npage-faults;firmware.elf;") {
		t.Errorf("%v, %s", err, got.String())
	}
	if page := string(s.AppendFlame(nil, "")); !strings.Contains(page, `title="page-faults (1, 33.33 %) "`) {
		t.Errorf("%s", page)
	}
	p := parsed(t, &s)
	if len(p.SampleType) != 2 || p.SampleType[1].Type != "cpu-clock" || len(p.Sample) != 2 || !slices.Equal(p.Sample[0].Value, []int64{0, 2}) || !slices.Equal(p.Sample[1].Value, []int64{1, 0}) {
		t.Errorf("%v", p)
	}
}

// TestOneEvent: samples of one event are of a type of its name.
func TestOneEvent(t *testing.T) {
	var s display.Stacks
	r := sample(t)
	r.Snapshot.Threads[0].Moment = &target.Moment{Event: "cycles"}
	count(t, &s, r)
	if p := parsed(t, &s); len(p.SampleType) != 1 || p.SampleType[0].Type != "cycles" || p.Sample[0].Value[0] != 1 {
		t.Errorf("%v", p)
	}
}

// parsed is what pprof's own reader has of stacks.
func parsed(t *testing.T, s *display.Stacks) *profile.Profile {
	var b bytes.Buffer
	if err := s.WritePprof(&b); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPprof: pprof's own reader finds each name once, and one sample, which is what was counted.
func TestPprof(t *testing.T) {
	var s display.Stacks
	count(t, &s, sample(t))
	count(t, &s, sample(t))
	p := parsed(t, &s)
	if len(p.Sample) != 1 || p.Sample[0].Value[0] != 2 || len(p.Function) != 5 {
		t.Fatalf("%v", p)
	}
	var places []string
	for _, l := range p.Sample[0].Location {
		places = append(places, fmt.Sprintf("%#x %s %s:%d", l.Address, l.Line[0].Function.Name, l.Line[0].Function.Filename, l.Line[0].Line))
	}
	want := []string{
		"0x400d2c hello /src/hello.c:14", "0x400d2c leaf /usr/include/leaf.h:3", "0x400d2c mybacktrace /src/lib/backtrace.c:31",
		"0x40127c firmware.elf+0x1284 :0", "0x4052c8 firmware.elf+0x52d0? :0",
	}
	if !slices.Equal(places, want) {
		t.Errorf("%q", places)
	}
	if m := *p.Sample[0].Location[0].Mapping; len(p.Mapping) != 1 || m.Start != 0x400000 || m.File != "/lib/firmware.elf" || !m.HasInlineFrames {
		t.Errorf("%d mappings, %+v", len(p.Mapping), m)
	}
	if kind := *p.SampleType[0]; kind.Type != "threads" || kind.Unit != "count" {
		t.Errorf("%+v", kind)
	}
}

// TestPprofProgram: pprof takes the first mapping for the program's own. The outermost frame of a recording's first sample, in
// exec, may be the kernel's.
func TestPprofProgram(t *testing.T) {
	var s display.Stacks
	r := sample(t)
	outermost := r.Threads[0].Frames[len(r.Threads[0].Frames)-1]
	outermost.Module = &target.Module{Name: "[kernel.kallsyms]", Range: target.Range{Lo: 0x405000, Hi: 0x406000}, Bias: 0x405000}
	count(t, &s, r)
	if p := parsed(t, &s); len(p.Mapping) != 2 || p.Mapping[0].File != "/lib/firmware.elf" {
		t.Errorf("%v", p.Mapping)
	}
	var linked display.Stacks
	r.Snapshot.Command = "firmware"
	count(t, &linked, r)
	if p := parsed(t, &linked); len(p.Mapping) != 2 || p.Mapping[0].File != "/lib/firmware.elf" {
		t.Errorf("called by a link: %v", p.Mapping)
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

// namesOnce are names of places, each of which may be asked for once, and only when all were told of.
type namesOnce struct {
	t     *testing.T
	named map[uint64]string
	told  map[uint64]bool
}

func (n *namesOnce) Prepare(_ context.Context, places iter.Seq2[*target.Module, uint64]) error {
	for _, addr := range places {
		n.told[addr] = true
	}
	return nil
}

func (n *namesOnce) Lookup(_ *target.Module, addr uint64) symbol.Location {
	if !n.told[addr] {
		n.t.Errorf("%#x is asked for again, or without Prepare", addr)
	}
	delete(n.told, addr)
	return symbol.Location{Function: n.named[addr]}
}

// TestNumbers: places in a binary have numbers before they have names, each is looked up once, wherever processes have the binary, and
// names, not places, make folded stacks different; pprof, which tells lines and addresses, has the places.
func TestNumbers(t *testing.T) {
	var s display.Stacks
	img := image.New(image.Header{Arch: x86.Archs()[0]}, nil)
	names := &namesOnce{t, map[uint64]string{0x10: "leaf", 0x14: "leaf", 0x20: "main", 0x24: "main"}, map[uint64]bool{}}
	stack := func(bias uint64, pcs ...uint64) {
		m := target.NewModule("/lib/a.so", img, bias)
		var frames []unwind.Frame
		for i, pc := range pcs {
			frames = append(frames, unwind.Frame{PC: bias + pc, CallSite: bias + pc, Module: m, Exact: i == 0, Trust: unwind.Certain})
		}
		s.Count(&target.Snapshot{}, s.Find(nil, each(frames, false)))
	}
	stack(0x10000, 0x10, 0x20)
	stack(0x10000, 0x14, 0x20)
	stack(0x10000, 0x24, 0x20)
	for range 2 {
		if err := s.Name(t.Context(), names); err != nil {
			t.Error(err)
		}
		stack(0x70000, 0x10, 0x20)
	}
	var got strings.Builder
	if err := s.WriteFolded(&got); err != nil || got.String() != "main;leaf 4\nmain;main 1\n" {
		t.Errorf("%v, %q", err, got.String())
	}
	p := parsed(t, &s)
	var samples []string
	for _, sample := range p.Sample {
		samples = append(samples, fmt.Sprintf("%d at %#x", sample.Value[0], sample.Location[0].Address))
	}
	if want := []string{"3 at 0x10010", "1 at 0x10014", "1 at 0x10024"}; !slices.Equal(samples, want) {
		t.Errorf("%q", samples)
	}
}

// each are frames of which the capture lists the names, or not.
func each(frames []unwind.Frame, listed bool) iter.Seq2[*unwind.Frame, bool] {
	return func(yield func(*unwind.Frame, bool) bool) {
		for i := range frames {
			if !yield(&frames[i], listed) {
				return
			}
		}
	}
}

// TestLearnt: without a binary, a frame is named when its place comes first; the place's number is found again, but not that of a frame
// that waits, a guess, or a name that a capture lists.
func TestLearnt(t *testing.T) {
	var s display.Stacks
	f := sample(t).Threads[0].Frames[1]
	f.Module.Image = nil
	find := func(f unwind.Frame) uint32 { return s.Find(nil, each([]unwind.Frame{f}, false))[0] }
	if n := find(*f.Frame); n != 0 {
		t.Errorf("%d before anything was learnt", n)
	}
	listed := s.Learn(&f, true)
	if n := find(*f.Frame); n != 0 {
		t.Errorf("%d: the name is the capture's", n)
	}
	n := s.Learn(&f, false)
	if again := s.Learn(&f, false); n == 0 || n == listed || again != n || find(*f.Frame) != n {
		t.Errorf("%d, then %d, found %d", n, again, find(*f.Frame))
	}
	if n := s.Find(nil, each([]unwind.Frame{*f.Frame}, true))[0]; n != 0 {
		t.Errorf("%d: its place does not tell its name", n)
	}
	other := *f.Frame
	if other.Exact = !other.Exact; find(other) != 0 {
		t.Error("a frame that was interrupted there has another place's name")
	}
	s.Count(sample(t).Snapshot, []uint32{n, listed}, nil, []uint32{listed, n})
	var got strings.Builder
	if err := errors.Join(s.Name(t.Context(), nil), s.WriteFolded(&got)); err != nil || got.String() != "firmware.elf;mybacktrace;leaf;mybacktrace;leaf 2\n" {
		t.Errorf("%v, %q: names, not places, make stacks different; none is empty", err, got.String())
	}
}
