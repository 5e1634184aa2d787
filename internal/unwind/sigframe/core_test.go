package sigframe

import (
	"bytes"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// In these cores, written by a Linux kernel and by QEMU, a handler crashed that
// raise() had called: the interrupted PC follows the system call in libc.
func TestSignalsInCores(t *testing.T) {
	for _, c := range []struct{ dir, name, syscall string }{
		{"amd64", "crash-dyn-O2", "0f05"},
		{"aarch64", "crash-dyn-O2", "010000d4"},
		{"armhf", "crash-static-O2", "00df"},
		{"mips", "crash-static-O2", "0000000c"},
		{"mipsel", "crash-dyn-O2", "0c000000"},
		{"mips64", "crash-static-O2", "0000000c"},
		{"mips64el", "crash-dyn-O2", "0c000000"},
	} {
		t.Run(c.dir, func(t *testing.T) {
			core := recorded.Shared(t, "inputs/user-cores", c.dir, c.name+".sig.core.gz")
			checkRaised(t, captured.Core(t, core, captured.Programs(t, c.dir)), c.syscall)
		})
	}
}

// TestSignalInCore is the same in testdata's core of AArch64.
func TestSignalInCore(t *testing.T) {
	core, sysroot := recorded.Testdata(t, "aarch64-signal/core.gz"), recorded.Testdata(t, "aarch64-signal/modules")
	checkRaised(t, captured.Core(t, core, sysroot), "010000d4")
}

// checkRaised: one signal frame is on the stack, and what it interrupted follows a
// system call.
func checkRaised(t *testing.T, snap *target.Snapshot, instruction string) {
	t.Helper()
	syscall := code(t, instruction)
	if n := countSignals(snap, func(pc uint64) bool {
		m, ok := snap.ModuleAt(pc)
		return ok && m.Image != nil && bytes.Equal(m.Image.Segments.Before(m.ToImage(pc), len(syscall)), syscall)
	}); n != 1 {
		t.Errorf("%d signal frames, want 1", n)
	}
}

// countSignals tries every place on the crashed thread's stack as SP of every
// trampoline that some word on it points at.
func countSignals(snap *target.Snapshot, good func(pc uint64) bool) (n int) {
	a := snap.Arch
	regs := snap.Threads[0].Regs
	top := regs.Val[a.SP] & a.AddrMask()
	stack := snap.Memory.RangeAt(top)
	s := stackwalk.State{Snapshot: snap, Regs: &regs}
	tramps := map[uint64]cpu.Mode{}
	for sp := top; stack.Contains(sp); sp += uint64(a.RegSize) {
		v, _ := snap.Memory.Uint(sp, a.RegSize)
		if pc, mode := a.SplitCode(v); (Source{}).At(&s, pc, mode) {
			tramps[pc] = mode
		}
	}
	for s.PC, s.Mode = range tramps {
		for sp := top; stack.Contains(sp); sp += uint64(a.RegSize) {
			regs.Set(a.SP, sp)
			var got stackwalk.Caller
			if (Source{}).Step(&s, &got) != unwind.Found || got.CFA <= sp || !stack.Contains(got.CFA) {
				continue
			}
			if pc, _, _ := a.PCOf(&got.Regs); good(pc) {
				n++
			}
		}
	}
	return n
}
