package render_test

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/google/pprof/profile"
)

// TestFolded: equal stacks of several captures are counted, outermost first; an inlined
// function is a place of its own, a guess has its mark, and nothing in a name separates.
func TestFolded(t *testing.T) {
	var s render.Stacks
	other := sample(t)
	other.Threads[0].Frames[0].Function = "a;b\x1b"
	for _, r := range []*report.Report{sample(t), {}, sample(t), other} {
		s.Add(r)
	}
	const callers = "firmware.elf;firmware.elf+0x52d0?;firmware.elf+0x1284;mybacktrace;leaf;"
	want := callers + "hello 2\n" + callers + `a:b\x1b 1` + "\n"
	if got := string(s.AppendFolded(nil)); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := new(render.Stacks).AppendFolded(nil); got != nil {
		t.Errorf("no stacks: %q", got)
	}
}

// TestPprof: the profile has each name once, and its one sample is what was counted.
func TestPprof(t *testing.T) {
	var s render.Stacks
	s.Add(sample(t))
	s.Add(sample(t))
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
