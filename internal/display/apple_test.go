package display_test

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// TestApple: a crash report as macOS writes it, version 104.
func TestApple(t *testing.T) {
	arch, ok := cpu.Set(arm64.Archs()).ByName("aarch64", "", false)
	if !ok {
		t.Fatal("no aarch64")
	}
	app := &target.Module{Name: "/Applications/my app.app/my app", Range: target.Range{Lo: 0x1_0223_0000, Hi: 0x1_0223_8000}, BuildID: []byte{0x82, 0xd1}}
	th := target.Thread{ID: 0, Name: "main", Crashed: true}
	th.Regs.Set(arch.PC, 0x1_0223_0010)
	th.Regs.Set(arch.LR, 0x1_0223_0104)
	snap := &target.Snapshot{Arch: arch, OS: "iOS", PID: 455, Command: app.Name, Threads: []target.Thread{th}, Modules: []*target.Module{app},
		Fault: &target.Fault{Name: "SIGSEGV", Address: 0x18, HasAddress: true}}
	frame := func(pc uint64, m *target.Module, l symbol.Location) report.Frame {
		return report.Frame{Frame: &unwind.Frame{PC: pc, Module: m}, Location: &l}
	}
	r := &report.Report{Snapshot: snap, Threads: []report.Thread{{Thread: &snap.Threads[0], Frames: []report.Frame{
		frame(0x1_0223_0010, app, symbol.Location{Function: "-[A b:]", Entry: 0x1_0223_0000, File: "/src/a.m", Line: 7}),
		frame(0x1_0223_0040, app, symbol.Location{Function: "walk", Entry: 0x1_0223_0020, File: "/src/walk.c", Line: 9,
			Inlines: []symbol.Inline{{Function: "next", File: "/src/list.h", Line: 20}}}),
		frame(0x1_0223_0104, app, symbol.Location{}), frame(0x10, nil, symbol.Location{})}}}}
	got := string(display.AppendApple(nil, r))
	want := `Process:             my app [455]
Path:                /Applications/my app.app/my app
Code Type:           ARM-64

OS Version:          iOS
Report Version:      104

Exception Type:  SIGSEGV
Exception Codes: at 0x0000000000000018
Triggered by Thread:  0

Thread 0 name:  main
Thread 0 Crashed:
0   my app                         0x0000000102230010 -[A b:] + 16 (a.m:7)
1   my app                         0x0000000102230040 next (list.h:20) [inlined]
2   my app                         0x0000000102230040 walk + 32 (walk.c:9)
3   my app                         0x0000000102230104 0x102230000 + 260
4   ???                            0x0000000000000010 0x0 + 16

Thread 0 crashed with ARM Thread State (64-bit):
     lr: 0x0000000102230104     pc: 0x0000000102230010

Binary Images:
       0x102230000 -        0x102237fff my app arm64 <82d1> /Applications/my app.app/my app
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if empty := display.AppendApple(nil, &report.Report{}); len(empty) != 0 {
		t.Errorf("without a snapshot: %q", empty)
	}
	snap.Threads[0].Name = "evil\x1b[31m"
	if s := string(display.AppendApple(nil, r)); strings.Contains(s, "\x1b") {
		t.Errorf("%q", s)
	}
}
