package display_test

import (
	"testing"

	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestPerf: a sample as perf script writes it. What was inlined stands in front of its function, code that the process made is of the file that
// names it.
func TestPerf(t *testing.T) {
	node := &target.Module{Name: "/usr/bin/node", Range: target.Range{Lo: 0x400000, Hi: 0x500000}}
	made := &target.Module{Name: "//anon", Range: target.Range{Lo: 0x700000, Hi: 0x800000}}
	snap := &target.Snapshot{Arch: x86.Archs()[0], OS: "Linux", PID: 4321, Threads: []target.Thread{{ID: 4322, Name: "V8 worker",
		Moment: &target.Moment{Time: 12_345_678_901, CPU: 1, Event: "cpu-clock", Period: 1_000_000}}}}
	frame := func(pc uint64, m *target.Module, l symbol.Location) report.Frame {
		return report.Frame{Frame: &unwind.Frame{PC: pc, CallSite: pc, Module: m}, Location: &l}
	}
	r := &report.Report{Snapshot: snap, Threads: []report.Thread{{Thread: &snap.Threads[0], Frames: []report.Frame{
		frame(0x700010, made, symbol.Location{Function: "JS:*fib hot.js:1", Entry: 0x700000}),
		frame(0x400110, node, symbol.Location{Function: "run", Entry: 0x400100, Inlines: []symbol.Inline{{Function: "next"}}}),
		frame(0x400220, node, symbol.Location{}), frame(0x10, nil, symbol.Location{})}}}}
	const want = "V8 worker    4321/4322    [001]    12.345678:    1000000 cpu-clock:\n" +
		"\t          700010 JS:*fib hot.js:1+0x10 (/tmp/perf-4321.map)\n" +
		"\t          400110 next (inlined)\n" +
		"\t          400110 run+0x10 (/usr/bin/node)\n" +
		"\t          400220 [unknown] (/usr/bin/node)\n" +
		"\t              10 [unknown] ([unknown])\n\n"
	if got := string(display.AppendPerf(nil, r)); got != want {
		t.Errorf("%q\nwant\n%q", got, want)
	}
}
