package e2e_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// crashed opens a core file of testdata: twelve frames of one thread.
func crashed(t *testing.T) *target.Snapshot {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{"../../testdata/mips-deref/modules"}})
	capture, err := backsight.Open(t.Context(), "../../testdata/mips-deref/core.gz", input.Env{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(capture.Close(), files.Close()); err != nil {
			t.Error(err)
		}
	})
	snap, err := capture.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// backtrace unwinds the first thread with sources.
func backtrace(t *testing.T, snap *target.Snapshot, sources []backsight.Source) backsight.Backtrace {
	t.Helper()
	u, err := backsight.NewUnwinder(backsight.Options{Sources: sources})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := u.Backtraces(t.Context(), snap)
	if err != nil {
		t.Fatal(err)
	}
	return traces[0]
}

// symbolServer names every place by its module's name. It keeps what it was told of, and
// counts what it was asked without having been told.
type symbolServer struct {
	prepared map[uint64]bool
	surprise int
	down     error
}

func (s *symbolServer) Prepare(_ context.Context, places iter.Seq2[*target.Module, uint64]) error {
	s.prepared = make(map[uint64]bool)
	for _, addr := range places {
		s.prepared[addr] = true
	}
	return s.down
}

func (s *symbolServer) Lookup(m *target.Module, addr uint64) symbol.Location {
	if !s.prepared[addr] {
		s.surprise++
	}
	return symbol.Location{Function: "of " + m.Name, Entry: addr}
}

// TestOwnSymbolizer: names come from whom the program gives; that the server is down
// costs no frame.
func TestOwnSymbolizer(t *testing.T) {
	snap := crashed(t)
	traces := []backsight.Backtrace{backtrace(t, snap, nil)}
	server := &symbolServer{down: errors.New("symbol server: no route to host")}
	r := backsight.Report(t.Context(), snap, traces, server)
	frames := r.Threads[0].Frames
	if len(frames) != 12 || server.surprise > 0 {
		t.Errorf("%d frames, want 12; %d places were not prepared", len(frames), server.surprise)
	}
	for i := range frames {
		if f := &frames[i]; !strings.HasPrefix(f.Function, "of ") || f.FunctionAt() != f.CallSite {
			t.Errorf("frame %d is %q, which begins at %#x; want %#x", i, f.Function, f.FunctionAt(), f.CallSite)
		}
	}
	if !slices.Contains(r.Issues, target.Issue{Kind: target.IssueNames, Text: "names: symbol server: no route to host"}) {
		t.Errorf("issues: %q", r.Issues)
	}
}

// TestExplainNames: a place and what its code calls are prepared as well.
func TestExplainNames(t *testing.T) {
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := crashed(t).ModuleAt(0x400008b0)
	server := &symbolServer{down: errors.New("no route to host")}
	place := m.ToImage(0x400008b0) // on_route, behind its call of pack
	p := u.Explain(t.Context(), backsight.Question{Image: m.Image, PC: place, Call: true, Lines: 16, Names: server})
	named := 0
	for i := range p.Lines {
		if p.Lines[i].Target != "" {
			named++
		}
	}
	if p.Location.Entry != place-1 || named == 0 || server.surprise > 0 || len(p.Issues) != 1 {
		t.Errorf("%+v, %d calls named, %d places not prepared, issues %v", p.Location, named, server.surprise, p.Issues)
	}
}

// TestBinaryNotAtHand: a symbol server can name places of a module whose binary was not
// found; the binaries' own names leave such frames without.
func TestBinaryNotAtHand(t *testing.T) {
	gone := &target.Module{Name: "/lib/gone.so", Range: target.Range{Lo: 0x5000, Hi: 0x6000}, Bias: 0x5000}
	snap := crashed(t)
	traces := []backsight.Backtrace{{Thread: &snap.Threads[0], Frames: []unwind.Frame{{PC: 0x5128, CallSite: 0x5120, Module: gone}}}}
	f := backsight.Report(t.Context(), snap, traces, &symbolServer{}).Threads[0].Frames[0]
	if f.Function != "of /lib/gone.so" || f.Entry != 0x120 || f.FunctionAt() != 0x5120 {
		t.Errorf("%q at %#x, image address %#x", f.Function, f.FunctionAt(), f.Entry)
	}
	f = backsight.Report(t.Context(), snap, traces, &symbol.Symbolizer{}).Threads[0].Frames[0]
	if f.Function != "" || f.Module != gone {
		t.Errorf("%q in %v", f.Function, f.Module)
	}
}

// TestReportEnds: after the end of the context frames stay, names are left out.
func TestReportEnds(t *testing.T) {
	snap := crashed(t)
	traces := []backsight.Backtrace{backtrace(t, snap, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := backsight.Report(ctx, snap, traces, &symbol.Symbolizer{})
	if f := r.Threads[0].Frames; len(f) != 12 || f[0].Function != "" || !slices.Contains(r.Issues, target.Issue{Kind: target.IssueNames, Text: "names: context canceled"}) {
		t.Errorf("%d frames, the first is %q; issues %q", len(f), f[0].Function, r.Issues)
	}
}

// lastCall knows one rule, that of a leaf function of MIPS: the caller is in RA.
type lastCall struct{ asked *int }

func (lastCall) Method() unwind.Method { return unwind.MethodFP }

func (s lastCall) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	*s.asked++
	if !q.Exact || q.Try > 0 {
		return unwind.NotCovered
	}
	out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: q.Arch.SP}
	out.RA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Base: q.Arch.LR}
	return unwind.Found
}

// Notes implements stackwalk.Explainer.
func (lastCall) Notes(*stackwalk.Query) []string { return []string{"a leaf, for all I know"} }

// TestOwnSource: a source of the program's own is asked in its place among the others,
// and explained by its name and in its words.
func TestOwnSource(t *testing.T) {
	snap, asked := crashed(t), 0
	own := backsight.Source{Name: "leaf", Source: lastCall{&asked}}
	if b := backtrace(t, snap, []backsight.Source{own}); asked == 0 || len(b.Frames) != 2 || b.Frames[1].Method != unwind.MethodFP {
		t.Errorf("by the own source alone: asked %d times, frames %v", asked, b.Frames)
	}
	if b := backtrace(t, snap, append(backsight.DefaultSources(), own)); len(b.Frames) != 12 || b.Stop.Reason != unwind.StopRoot {
		t.Errorf("with the own source as the last resort: %d frames, %v", len(b.Frames), b.Stop)
	}
	u, err := backsight.NewUnwinder(backsight.Options{Sources: append([]backsight.Source{own}, backsight.DefaultSources()...)})
	if err != nil {
		t.Fatal(err)
	}
	m, _ := snap.ModuleAt(0x400007d0)
	p := u.Explain(t.Context(), backsight.Question{Image: m.Image, PC: m.ToImage(0x400007d0)})
	first := p.Answers[0]
	if p.Source != "leaf" || first.Source != "leaf" || len(first.Notes) != 1 || p.Answers[1].Source != "pclntab" {
		t.Errorf("explained by %q, answers %+v, then of %q", p.Source, first, p.Answers[1].Source)
	}
}

// TestUnusableSource: what is no source is refused by name, not skipped in silence.
func TestUnusableSource(t *testing.T) {
	_, err := backsight.NewUnwinder(backsight.Options{Sources: []backsight.Source{{Name: "mute"}}})
	if err == nil || !strings.Contains(err.Error(), `"mute"`) {
		t.Errorf("error %v", err)
	}
	if _, err := backsight.SelectSources("cfi", "magic"); err == nil || !strings.Contains(err.Error(), `"magic"`) {
		t.Errorf("error %v", err)
	}
}

// TestExplainedBacktraces: they are the others, with the attempts for every frame but the
// first, of which the last that was taken gave the frame.
func TestExplainedBacktraces(t *testing.T) {
	snap := crashed(t)
	want := backtrace(t, snap, nil)
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := u.ExplainedBacktraces(t.Context(), snap)
	if err != nil {
		t.Fatal(err)
	}
	got := traces[0]
	if !slices.Equal(got.Frames, want.Frames) || got.Stop != want.Stop || len(got.Tried) != len(got.Frames)+1 {
		t.Fatalf("%d frames, %d lists of attempts, %v; want %d frames, %v", len(got.Frames), len(got.Tried), got.Stop, len(want.Frames), want.Stop)
	}
	for i := 1; i < len(got.Frames); i++ {
		found := false
		for _, a := range got.Tried[i] {
			found = found || a.Taken && a.PC == got.Frames[i].PC && a.RuleText != ""
		}
		if !found {
			t.Errorf("no attempt gave frame %d at %#x: %+v", i, got.Frames[i].PC, got.Tried[i])
		}
	}
}

// dear is a source that has no answer, and says that to find none cost a third of what a walk may.
type dear struct{ asked *int }

func (dear) Method() unwind.Method { return unwind.MethodCode }

func (d dear) Rule(q *stackwalk.Query, _ *stackwalk.Rule) unwind.Verdict {
	*d.asked++
	q.Cost += stackwalk.MaxCost / 3
	return unwind.NotCovered
}

// TestExplainedAllowance: many threads may cost together what they may without attempts, and have the same frames.
func TestExplainedAllowance(t *testing.T) {
	snap, asked := crashed(t), 0
	first := snap.Threads[0]
	snap.Threads = nil
	for i := range 200 {
		th := first
		pc, _ := th.Regs.Lookup(snap.Arch.PC)
		th.ID = i + 1
		th.Regs.Set(snap.Arch.PC, pc+4*uint64(i))
		snap.Threads = append(snap.Threads, th)
	}
	u, err := backsight.NewUnwinder(backsight.Options{Sources: append([]backsight.Source{{Name: "dear", Source: dear{&asked}}}, backsight.DefaultSources()...)})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := u.ExplainedBacktraces(t.Context(), snap)
	if err != nil || asked > 2*len(snap.Threads) {
		t.Errorf("asked %d times for %d threads, %v", asked, len(snap.Threads), err)
	}
	for i := range traces {
		traces[i].Tried = nil
	}
	want, err := u.Backtraces(t.Context(), snap)
	if err != nil || !reflect.DeepEqual(traces, want) {
		t.Errorf("other backtraces with attempts than without, %v", err)
	}
}

// TestExplainedMany: of many threads, the attempts of the first are kept, and those of a thread that crashed; the report says so.
func TestExplainedMany(t *testing.T) {
	snap := crashed(t)
	last := snap.Threads[0]
	th := last
	th.Crashed = false
	snap.Threads = append(slices.Repeat([]target.Thread{th}, 5000), last)
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := u.ExplainedBacktraces(t.Context(), snap)
	if err != nil {
		t.Fatal(err)
	}
	explained, attempts := 0, 0
	for i := range traces {
		for _, tried := range traces[i].Tried {
			attempts += len(tried)
		}
		if traces[i].Tried != nil {
			explained++
		}
	}
	if traces[0].Tried == nil || traces[len(traces)-1].Tried == nil || explained == len(traces) || attempts > 100_000 {
		t.Errorf("%d of %d threads explained, by %d attempts", explained, len(traces), attempts)
	}
	want := fmt.Sprintf("what was tried is told of %d of %d threads", explained, len(traces))
	if issues := fmt.Sprint(backsight.Report(t.Context(), snap, traces, nil).Issues); !strings.Contains(issues, want) {
		t.Errorf("%s, without %q", issues, want)
	}
}
