package advice

import (
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

const (
	inCode, inLibrary = 0x8000, 0x20000
	sp, taken         = 0x1000, 0x80
)

// thread stands in code, with a stack of which a part was captured; trusts are those of its frames.
func thread(arch *cpu.Arch, stop unwind.Stop, in *target.Module, trusts ...unwind.Trust) report.Thread {
	t := report.Thread{Thread: &target.Thread{ID: 7}, Stop: stop}
	for _, reg := range []cpu.Reg{arch.PC, arch.SP, arch.LR, arch.FP} {
		t.Regs.Set(reg, sp)
	}
	for _, trust := range trusts {
		t.Frames = append(t.Frames, report.Frame{Frame: &unwind.Frame{PC: inCode, Module: in, Trust: trust, Method: unwind.MethodCode}})
	}
	return t
}

func TestLacks(t *testing.T) {
	arch := arm.Archs()[0]
	var b target.Builder
	b.Add(sp, make([]byte, taken), 0, target.PermRead)
	snap := &target.Snapshot{Arch: arch, Memory: b.Memory(arch)}
	library := &target.Module{Name: "/lib/libx.so", Range: target.Range{Lo: inLibrary, Hi: inLibrary + 0x3000}, BuildID: []byte{0xab}}
	const certain, guess = unwind.Certain, unwind.Guess
	root, unreadable := unwind.Stop{}, unwind.Stop{Reason: unwind.StopUnreadable, Addr: sp + taken}
	for _, c := range []struct {
		name   string
		change func(t *report.Thread)
		stop   unwind.Stop
		in     *target.Module
		trusts []unwind.Trust
		want   []report.Lack
	}{
		{"whole", nil, root, nil, []unwind.Trust{certain, certain}, nil},
		{"code that nobody has", nil, unwind.Stop{Reason: unwind.StopNoRule}, nil, []unwind.Trust{certain},
			[]report.Lack{{Kind: report.LackBinary, Range: target.Range{Lo: inCode}}}},
		{"a binary that nobody has", nil, unwind.Stop{Reason: unwind.StopNoRule}, library, []unwind.Trust{certain, guess},
			[]report.Lack{{Kind: report.LackBinary, Module: library, Range: library.Range, Frames: 2}}},
		{"a stack that is cut", func(t *report.Thread) { t.Frames[0].PC = sp }, unreadable, nil, []unwind.Trust{certain},
			[]report.Lack{{Kind: report.LackStack, Range: target.Range{Lo: sp + taken}, Captured: taken, Frames: 1}}},
		{"whose end is known", func(t *report.Thread) { t.Frames[0].PC, t.Stack = sp, target.Range{Lo: sp, Hi: sp + 0x400} }, unreadable, nil, []unwind.Trust{certain},
			[]report.Lack{{Kind: report.LackStack, Range: target.Range{Lo: sp + taken, Hi: sp + 0x400}, Captured: taken, Frames: 1}}},
		{"memory elsewhere", func(t *report.Thread) { t.Frames[0].PC, t.Stop.Addr = sp, 0x90000000 }, unreadable, nil, []unwind.Trust{certain},
			[]report.Lack{{Kind: report.LackMemory, Range: target.Range{Lo: 0x90000000, Hi: 0x90000004}}}},
		{"a damaged stack", nil, unwind.Stop{Reason: unwind.StopLoop}, nil, []unwind.Trust{certain}, []report.Lack{{Kind: report.LackNothing}}},
		{"registers", func(t *report.Thread) { t.Regs.Forget(arch.LR) }, unwind.Stop{Reason: unwind.StopLimit}, nil, []unwind.Trust{certain},
			[]report.Lack{{Kind: report.LackRegisters, Registers: []string{"lr"}}, {Kind: report.LackFrames}}},
	} {
		th := thread(arch, c.stop, c.in, c.trusts...)
		if c.change != nil {
			c.change(&th)
		}
		got := Of(&report.Report{Snapshot: snap, Threads: []report.Thread{th}}, "snapshot")
		same := slices.EqualFunc(got.Lacks, c.want, func(a, b report.Lack) bool {
			return a.Kind == b.Kind && a.Range == b.Range && a.Captured == b.Captured && a.Frames == b.Frames && a.Module == b.Module && slices.Equal(a.Registers, b.Registers)
		})
		if !same || (got.Whole == 1) != (c.want == nil) {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// The settings are those of who wrote the capture, and of what is lacking.
func TestSettings(t *testing.T) {
	stack, binary := []report.Lack{{Kind: report.LackStack}}, []report.Lack{{Kind: report.LackBinary}}
	for _, c := range []struct {
		lacks          []report.Lack
		format, os     string
		says, saysNot  string
		fewest, atMost int
	}{
		{stack, "console", "Zephyr", "CONFIG_DEBUG_COREDUMP_MEMORY_DUMP_THREADS", "bs_dump", 1, 1},
		{stack, "console", "", "BS_DUMP_STACK", "CONFIG_", 1, 1},
		{binary, "elfcore", "Linux", "coredump_filter", "gcore", 2, 2},
		{stack, "minidump", "Windows", "MiniDumpWriteDump", "CodeSegs", 1, 1},
		{nil, "elfcore", "Linux", "", "", 0, 0},
	} {
		got := settings(c.lacks, c.format, c.os)
		text := strings.Join(got, "\n")
		if len(got) < c.fewest || len(got) > c.atMost || !strings.Contains(text, c.says) || c.saysNot != "" && strings.Contains(text, c.saysNot) {
			t.Errorf("%s, %q: %q", c.format, c.os, got)
		}
	}
}
