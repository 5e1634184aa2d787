package cfi_test

import (
	"math"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/unwind"
)

// TestAgainstRecordedChains walks recorded programs, by rules of call frame
// information only, and compares each CFA and return address with what
// single-stepping has shown.
func TestAgainstRecordedChains(t *testing.T) {
	most := 30
	if long() {
		most = math.MaxInt
	}
	all := 0
	for _, rec := range recorded.Cases(t, "*/*-O[2s]*") {
		t.Run(rec.Name, func(t *testing.T) {
			cases := captured.Corpus(t, &rec, "sym")
			if len(cases) == 0 {
				cases = captured.Corpus(t, &rec, "stripped")
			}
			var right, unknown int
			for i := range cases[:min(len(cases), most)] {
				n := follow(t, &cases[i])
				right += n
				if n < len(cases[i].Frames)-1 {
					unknown++
				}
			}
			all += right
			t.Logf("%d frames right; %d chains not known to the end", right, unknown)
		})
	}
	if all < 200 {
		t.Errorf("only %d frames were compared", all)
	}
}

// follow walks one chain as far as there are rules and returns how many frames
// were right. A wrong one fails the test but in __longjmp of AArch64's glibc, whose
// hand-written rows describe the jmp_buf and not the frame.
func follow(t *testing.T, c *captured.Case) int {
	img, arch, regs := c.Snapshot.Modules[0].Image, c.Snapshot.Arch, c.Snapshot.Threads[0].Regs
	exact := true
	for i := range len(c.Frames) - 1 {
		pc, _, _ := arch.PCOf(&regs)
		q := stackwalk.Query{Image: img, Arch: arch, PC: pc, Exact: exact}
		if !exact {
			q.PC--
		}
		var rule stackwalk.Rule
		if v := cfi.New().Rule(&q, &rule); v != unwind.Found {
			return i
		}
		var out cpu.Registers
		res, oc := evaluate.Rule(arch, &rule, &regs, c.Snapshot.Memory, 0, &out)
		if oc != evaluate.Applied {
			return i
		}
		exact = rule.Flags&stackwalk.SignalFrame != 0
		next, _ := arch.SplitCode(res.PC)
		want := c.Frames[i+1]
		if cfa := c.Frames[i].CFA; next != uint64(want.PC) || cfa != nil && res.CFA != uint64(*cfa) {
			if c.Frames[i].Func == "__longjmp" {
				return i
			}
			t.Errorf("%s step %d, %s (%s) at %#x: CFA %#x, caller %#x; recorded frame %+v and caller %#x; %s", c.Prog, c.Step,
				c.Frames[i].Func, c.Frames[i].Kind, q.PC, res.CFA, next, c.Frames[i], want.PC, rule.Format(arch))
			return i
		}
		regs = out
	}
	return len(c.Frames) - 1
}
