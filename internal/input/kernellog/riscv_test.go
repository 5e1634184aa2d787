package kernellog

import (
	"fmt"
	"strings"
	"testing"
)

// TestOldRISCV: before Linux 5.12 a chain of RISC-V begins with the function that lists it, at its beginning; handlers of
// exceptions and threads return to the beginning of ret_from_exception, which is no name of a next function. What
// follows an exception may lack the function that was interrupted.
func TestOldRISCV(t *testing.T) {
	const log = `rcu: INFO: rcu_sched self-detected stall on CPU
CPU: 0 PID: 11 Comm: migration/0 Not tainted 5.9.0 #1
Call Trace:
[<ffffffe000203c88>] walk_stackframe+0x0/0xc2
[<ffffffe000b2020a>] show_stack+0x46/0x52
[<ffffffe000203b74>] do_IRQ+0x96/0xfe
[<ffffffe000201daa>] ret_from_exception+0x0/0x14
[<ffffffe00020452c>] toy_spin+0x17e/0x19a
[<ffffffe00008b0f2>] kthread+0xf0/0x102
[<ffffffe000201daa>] ret_from_exception+0x0/0x14
`
	if got, want := threadsOf(t, log), "RCU stall: CPU 0 PID 11 migration/0|walk_stackframe! show_stack do_IRQ ret_from_exception toy_spin kthread ret_from_exception!.\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := gaps(t, log); got != "toy_spin" {
		t.Errorf("gaps before %q", got)
	}
}

// riscv515 is a warning of which the kernel's list has no entry for the PC.
const riscv515 = `WARNING: CPU: 1 PID: 109 at toy.c:250 leaf+0x20a/0x268
CPU: 1 PID: 109 Comm: kworker/1:2 Not tainted %s #3
epc : leaf+0x20a/0x268
 ra : leaf+0x1ca/0x268
epc : ffffffff8084121c ra : ffffffff808411dc sp : ffffffd114bbb700
 gp : ffffffff81a27358 tp : ffffffe081d01580 t0 : ffffffe081ca0200
[<ffffffff8083ddaa>] mid+0x2aa/0x4c0
[<ffffffff8083e324>] top+0x364/0x654
---[ end trace 0000000000000000 ]---
`

// TestPCLeftOut: kernels that leave the PC out of their list have lost no line; others have.
func TestPCLeftOut(t *testing.T) {
	for release, want := range map[string]string{"5.15.24-rt31": "", "5.19.0": "", "6.0.19": "", "5.15.0": "leaf mid top", "6.1.6": "leaf mid top", "6.12.0": "leaf mid top", "": "leaf mid top"} {
		log := fmt.Sprintf(riscv515, release)
		if got := gaps(t, log); got != want {
			t.Errorf("%s: gaps before %q, want %q", release, got, want)
		}
		if got := threadsOf(t, log); !strings.HasSuffix(got, "|leaf! mid top\n") {
			t.Error(got)
		}
	}
}

// TestRegistersWithMode: before Linux 5.7, RISC-V's kernels named registers of the supervisor's mode so.
func TestRegistersWithMode(t *testing.T) {
	const log = `Unable to handle kernel paging request at virtual address ffffffd2d979000c
Oops [#1]
CPU: 2 PID: 165 Comm: ls Not tainted 5.3.0 #164
sepc: ffffffe0005bde76 ra : ffffffe0005bde84 sp : ffffffe1f609d870
 gp : ffffffe000dbe6c0 tp : ffffffe1f60fa600 t0 : 0000000000046000
sstatus: 0000000200000100 sbadaddr: ffffffd2d979000c scause: 000000000000000d
`
	snap := snapshots(t, log)[0]
	checkRegisters(t, snap.Arch, &snap.Threads[0], "pc=ffffffe0005bde76 ra=ffffffe0005bde84 sp=ffffffe1f609d870")
}

// TestTrimmedRISCV: reports of which people left the registers out, or but the places, tell the processor.
func TestTrimmedRISCV(t *testing.T) {
	for log, want := range map[string]string{
		"WARNING: CPU: 2 PID: 35 at toy.c:349 leaf+0x48/0x66\nCPU: 2 UID: 0 PID: 35 Comm: sh Not\ntainted 6.14.0 #1\nepc : leaf+0x48/0x66\n ra : leaf+0x46/0x66\n...\n[<ffffffff805fc72c>] leaf+0x48/0x66\n": "warning: CPU 2 PID 35 sh|leaf!\n",
		"CPU: 1 UID: 0 PID: 159 Comm: sh Not tainted 6.12.0 #1\nCall Trace:\n[<ffffffff80006a02>] dump_backtrace+0x1c/0x24\n":                                                                                "stack: CPU 1 PID 159 sh|dump_backtrace\n",
		"Oops [#1]\nsepc: 000000000000006c ra : 0000000000000000 sp : ffffffe009d638a0\n gp : 0000000000000000\n":                                                                                            "oops|!\n",
	} {
		if got := threadsOf(t, log); got != want {
			t.Errorf("got %swant %s", got, want)
		}
		if snap := snapshots(t, log); len(snap) != 1 || snap[0].Arch.Name != "riscv64" {
			t.Errorf("%s: %d snapshots", log, len(snap))
		}
	}
	log := "CPU: 1 PID: 159 Comm: sh Not tainted 4.9.0 #1\nCall trace:\n[<ffffff8008088f48>] dump_backtrace+0x0/0x1a8\n" // arm64
	if snap := snapshots(t, log); len(snap) != 1 || snap[0].Arch.Name != "aarch64" {
		t.Errorf("%d snapshots", len(snap))
	}
}

// TestWithoutMMU: kernels without an MMU lie in the lower half of the address space.
func TestWithoutMMU(t *testing.T) {
	log := strings.NewReplacer("ffffffff01", "0000000080", "ffffffff80", "0000000080").Replace(oopses[6].log)
	if got := threadsOf(t, log); got != oopses[6].title+"|leaf! mid vfs_write ret_from_syscall!.\n" {
		t.Error(got)
	}
	snap := snapshots(t, log)[0]
	checkRegisters(t, snap.Arch, &snap.Threads[0], "pc=8043600c ra=80436030")
}
