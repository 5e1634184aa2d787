package vmcore

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/kallsyms"
	"github.com/backsight/backsight/internal/tasks"
	"github.com/backsight/backsight/target"
)

// TestReportedRegisters: raw memory has no registers of processors. The task that crashed has
// those that the kernel printed, the last time, with a PC that is printed as a symbol; a task that
// was switched out, or one of a kernel that went on, does not. Why a kernel panicked is told with registers and without.
func TestReportedRegisters(t *testing.T) {
	const log = `[    2.000000] Unable to handle kernel NULL pointer dereference at virtual address 0000000000000010
[    2.000000] CPU: 0 PID: 7 Comm: busybox Tainted: G        W  OE      6.1.0-50-arm64 #1
[    2.000000] pc : leaf+0x18/0x24
[    2.000000] lr : leaf+0x4/0x24
[    2.000000] sp : ffff80000826b960
[    2.000000] x29: ffff80000826b960 x28: ffff5280c33f2080 x27: 0000000000000000
[    2.000000] Call trace:
[    2.000000]  leaf+0x18/0x24
[    2.000000] ---[ end trace 0000000000000000 ]---
`
	const leaf = 0xffff800008010000
	arch := arm64.Archs()[0]
	h := image.Header{Path: "vmlinux", Arch: arch, Segments: []image.Segment{{Addr: leaf, Size: 0x40, Data: make([]byte, 0x40), Exec: true}}}
	img := kallsyms.Named(image.New(h, nil), kallsyms.New([]kallsyms.Symbol{{Name: "leaf", Addr: leaf, Kind: 't'}, {Name: "next", Addr: leaf + 0x24, Kind: 't'}}))
	for _, c := range []struct {
		name, log string
		pid       int
		onCPU     bool
		cpus      int
		taken     bool
	}{
		{"the task that crashed", log + "[    2.000000] Kernel panic - not syncing: Oops\n", 7, true, 0, true},
		{"the kernel went on", log, 7, true, 0, false},
		{"another task", log + "[    2.000000] Kernel panic - not syncing: Oops\n", 8, true, 0, false},
		{"the dump has registers", log + "[    2.000000] Kernel panic - not syncing: Oops\n", 7, true, 1, false},
	} {
		d := &dump{arch: arch, cpus: make([]cpu.Registers, c.cpus)}
		found := []tasks.Task{{PID: 1}, {PID: c.pid, OnCPU: c.onCPU}}
		snap := &target.Snapshot{Arch: arch, Told: target.Told{Log: c.log}, Threads: []target.Thread{{ID: 1}, {ID: c.pid, Crashed: c.cpus > 0}}, Modules: []*target.Module{target.NewModule("vmlinux", img, 0)}}
		d.takeReported(t.Context(), snap, found)
		th := &snap.Threads[1]
		pc, ok := th.Regs.Lookup(arch.PC)
		if sp := th.Regs.Val[arch.SP]; ok != c.taken || ok && (pc != leaf+0x18 || sp != 0xffff80000826b960 || !th.Crashed || th.Waits || len(d.issues) != 1) {
			t.Errorf("%s: PC %#x %t, SP %#x, crashed %t, %v", c.name, pc, ok, sp, th.Crashed, d.issues)
		}
		if f := snap.Fault; (f != nil) != th.Crashed || f != nil && (f.Name != "Unable to handle kernel NULL pointer dereference" || f.Address != 0x10 || f.Thread != 7) {
			t.Errorf("%s: fault %+v", c.name, f)
		}
	}
}
