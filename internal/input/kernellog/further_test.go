package kernellog

import (
	"fmt"
	"strings"
	"testing"
)

// mipsOops is the crash of leaf, called by mid, as a kernel for MIPS reports it, whose list ends
// early; what follows is from later reports.
const mipsOops = `
CPU 0 Unable to handle kernel paging request at virtual address 00000010, epc == c00a5020, ra == c00a506c
Oops[#1]:
CPU: 0 PID: 98 Comm: sh Tainted: G        W  OE      6.1.0-toy #1
$ 0   : 00000000 81c63b58 00000010 c00a0000
$ 4   : 00000004 00000000 00000000 817e7ca0
$ 8   : 00000008 826987b4 00000000 73617263
$12   : 817e7d4c 817e7c01 ffffffff ffffffff
$16   : 00000002 82930000 82930000 00eadcd8
$20   : 82930000 8174b800 00000063 00000030
$24   : 00000018 822bec90                  
$28   : 817a2000 814d9fe0 81001140 c00a506c
epc   : c00a5020 leaf+0x20/0x2c [toy]
ra    : c00a506c mid+0x40/0x54 [toy]
Status: 34002402	KERNEL EXL
Stack : 000001e9 c00a50fc 0000a3e8 07d333a1 81e6ebe8 00000000 00000000 00000000
Call Trace:
[<c00a5020>] leaf+0x20/0x2c [toy]
[<c00a506c>] mid+0x40/0x54 [toy]

---[ end trace 0000000000000000 ]---
`

// TestPanicGoesOn: the report of the panic that follows a crash lists the same stack, deeper; the
// crash's own list goes on by that. Another task's, and that of a task that only warned, is of
// another stack.
func TestPanicGoesOn(t *testing.T) {
	const panicked = `WARNING: CPU: 0 PID: 98 at kernel/smp.c:923 smp_call+0x464/0x488
CPU: 0 PID: 98 Comm: sh Tainted: G      D W  OE      6.1.0-toy #1
Call Trace:
[<81b7be6c>] show_stack+0x70/0x164
[<81b7c198>] die+0x12c/0x134
[<c00a506c>] mid+0x40/0x54 [toy]
[<c00a50fc>] write+0x7c/0xb8 [toy]
[<81b8ad4c>] syscall_common+0x34/0x58
---[ end trace 0000000000000000 ]---
`
	for _, c := range []struct{ name, log, want string }{
		{"the panic of that crash", mipsOops + panicked, "leaf! mid write syscall_common."},
		{"another task's report", mipsOops + strings.ReplaceAll(panicked, "PID: 98", "PID: 99"), "leaf! mid"},
		{"a task that went on", strings.NewReplacer("Oops[#1]:\n", "", "CPU 0 Unable to handle kernel paging request", "WARNING: request").Replace(mipsOops) + panicked, "leaf! mid"},
	} {
		if got := chainOf(&snapshots(t, c.log)[0].Threads[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestOverflow: where a stack overflowed, arm64 prints registers, and panics. The panic's chain has the
// exception's handlers in front of where the overflow was.
func TestOverflow(t *testing.T) {
	const log = `Insufficient stack space to handle exception!
CPU: 0 PID: 96 Comm: sh Tainted: G           OE      6.1.0-toy #1
pstate: 00000005 (nzcv daif -PAN -UAO -TCO -DIT -SSBS BTYPE=--)
pc : deeper+0xc/0x90 [toy]
lr : deeper+0x58/0x90 [toy]
sp : ffff80000a2500b0
x29: ffff80000a2500b0 x28: ffff0000033f30c0 x27: 0000000000000000
Kernel panic - not syncing: kernel stack overflow
CPU: 0 PID: 96 Comm: sh Tainted: G           OE      6.1.0-toy #1
Call trace:
 panic+0x184/0x364
 __bad_stack+0x78/0x7c
 deeper+0xc/0x90 [toy]
 deeper+0x58/0x90 [toy]
 write+0x43c/0x574 [toy]
 el0t_64_sync+0x18c/0x190
`
	th := &snapshots(t, log)[0].Threads[0]
	if got, want := chainOf(th), "deeper! deeper write el0t_64_sync."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	other := strings.Replace(log, "PID: 96", "PID: 97", 1)
	if got := chainOf(&snapshots(t, other)[0].Threads[0]); got != "deeper!" {
		t.Errorf("another task's panic: %s", got)
	}
}

// TestNextFunctionsName: a call of a function that never returns may be a function's last
// instruction, and kernels name what follows. That is no name of the caller.
func TestNextFunctionsName(t *testing.T) {
	log := strings.ReplaceAll(mipsOops, "mid+0x40/0x54", "next+0x0/0x54")
	l := snapshots(t, log)[0].Threads[0].Listed[1]
	if l.PC != 0xc00a506c || l.Symbol != "" || l.Module != "toy" {
		t.Errorf("%+v", l)
	}
}

// TestTracedReturns: a function that the function graph tracer watches returns to a trampoline,
// so that the list lacks the caller of a leaf function on arm64; where a warning's list ends
// there, its first line still says where it was raised.
func TestTracedReturns(t *testing.T) {
	const oops = `Unable to handle kernel NULL pointer dereference at virtual address 0000000000000010
CPU: 0 PID: 98 Comm: sh Tainted: G        W  OE      6.1.0-toy #1
pstate: 00000005 (nzcv)
pc : leaf+0x18/0x24 [toy]
lr : return_to_handler+0x0/0x44
sp : ffff80000825b860
Call trace:
 leaf+0x18/0x24 [toy]
 high+0x58/0x90 [toy]
 el0t_64_sync+0x18c/0x190
`
	for i, l := range snapshots(t, oops)[0].Threads[0].Listed {
		if l.Gap != (i == 1) {
			t.Errorf("arm64: %s, frames may be missing before: %t", l.Symbol, l.Gap)
		}
	}
	if said := fmt.Sprint(snapshots(t, oops)[0].Issues); !strings.Contains(said, "leaf returns to a tracer, return_to_handler") {
		t.Errorf("arm64: %s", said)
	}
	const warning = `WARNING: CPU: 0 PID: 98 at toy.c:59 warn_c+0x4c/0x60 [toy]
CPU: 0 PID: 98 Comm: sh Tainted: G           OE      6.1.0-5kc-malta #1
Call Trace:
[<ffffffff8153c190>] show_stack+0x70/0x168
[<ffffffff8154701c>] return_to_handler+0x0/0x24
`
	th := &snapshots(t, warning)[0].Threads[0]
	if got := chainOf(th); got != "show_stack! ?return_to_handler! warn_c" || !th.Listed[2].Gap {
		t.Errorf("MIPS: %s", got)
	}
	if said := fmt.Sprint(snapshots(t, warning)[0].Issues); !strings.Contains(said, "show_stack returns to a tracer") {
		t.Errorf("MIPS: %s", said)
	}
	if said := fmt.Sprint(snapshots(t, mipsOops)[0].Issues); strings.Contains(said, "tracer") {
		t.Errorf("nothing was traced: %s", said)
	}
}

// TestStackBesideList: a word of the printed stack that may be a return address lies between a
// frame whose code is missing and its caller in the list: frames may be missing there.
func TestStackBesideList(t *testing.T) {
	log := "toy 16384 0 - Live 0xc00a5000 (O)\n" + strings.Replace(mipsOops, "[<c00a506c>] mid+0x40/0x54 [toy]\n", `[<c00a506c>] mid+0x40/0x54 [toy]
[<81e6ebe8>] vfs_write+0xe4/0x4b4
[<81b8ad4c>] syscall_common+0x34/0x58
`, 1)
	th := &snapshots(t, log)[0].Threads[0]
	if got := chainOf(th); got != "leaf! mid vfs_write syscall_common." || !th.Listed[2].Gap || th.Listed[1].Gap {
		t.Errorf("%s, %+v", got, th.Listed[2])
	}
}

// TestInterruptedForItsStack: ARM prints the registers of what another processor interrupted to ask for them, and then the stack
// of the interrupt, below which that of the registers is.
func TestInterruptedForItsStack(t *testing.T) {
	const log = `
NMI backtrace for cpu 3
CPU: 3 PID: 0 Comm: swapper/3 Tainted: G           O      5.15.35 #1
PC is at arch_cpu_idle+0x38/0x3c
LR is at arch_cpu_idle+0x34/0x3c
pc : [<c010722c>]    lr : [<c0107228>]    psr: 60000013
sp : c105ffa8  ip : c0c06014  fp : 00000000
Flags: nZCv  IRQs on  FIQs on  Mode SVC_32  ISA ARM  Segment none
Control: 10c5387d  Table: 4968006a  DAC: 00000051
CPU: 3 PID: 0 Comm: swapper/3 Tainted: G           O      5.15.35 #1
[<c010d7c0>] (unwind_backtrace) from [<c0109f0c>] (show_stack+0x10/0x14)
[<c0109f0c>] (show_stack) from [<c0100b7c>] (__irq_svc+0x5c/0x90)
[<c0100b7c>] (__irq_svc) from [<c010722c>] (arch_cpu_idle+0x38/0x3c)
[<c010722c>] (arch_cpu_idle) from [<c014c3a4>] (do_idle+0x1d4/0x23c)
[<c014c3a4>] (do_idle) from [<40101650>] (0x40101650)
`
	want := "backtrace: CPU 3 PID 0 swapper/3|arch_cpu_idle! do_idle \nstack: CPU 3 PID 0 swapper/3|unwind_backtrace! show_stack __irq_svc arch_cpu_idle! do_idle \n"
	for edit, want := range map[string]string{"": want,
		"CPU: 3 PID: 0 Comm: swapper/3 Tainted: G           O      5.15.35 #1\n[": strings.NewReplacer("! do_idle \nstack: CPU 3 PID 0", "!\nstack: CPU 2 PID 7").Replace(want)} {
		if got := threadsOf(t, strings.Replace(log, edit, strings.Replace(edit, "3 PID: 0", "2 PID: 7", 1), 1)); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
	}
}
