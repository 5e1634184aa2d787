package kernellog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/target"
)

// kindLogs are the kinds of reports: how each begins, and what it is called.
var kindLogs = []struct{ name, head, kind string }{
	{"oops", "BUG: unable to handle page fault for address: ffffffffdeadbeef\nOops: 0002 [#1] SMP", "oops"},
	{"general protection fault", "general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1] SMP", "oops"},
	{"BUG", "------------[ cut here ]------------\nkernel BUG at mm/slab.c:4014!\ninvalid opcode: 0000 [#1] SMP", "BUG"},
	{"WARNING", "------------[ cut here ]------------\nWARNING: CPU: 2 PID: 7 at kernel/toy.c:59 warn_c+0x16/0x30 [toy]", "warning"},
	{"WARNING of Linux 7", "------------[ cut here ]------------\nWARNING: toy.c:59 at warn_c+0x16/0x30 [toy], CPU#2: sh/7", "warning"},
	{"allocation failure", "sh: page allocation failure: order:10, mode:0x10cc0(GFP_KERNEL|__GFP_NORETRY), nodemask=(null),cpuset=/", "allocation failure"},
	{"out of memory", "sh invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0", "out of memory"},
	{"panic", "Kernel panic - not syncing: VFS: Unable to mount root fs", "panic"},
	{"double fault", "traps: PANIC: double fault, error_code: 0x0\ndouble fault: 0000 [#1] SMP", "double fault"},
	{"stack overflow", "BUG: TASK stack guard page was hit at 00000000ab (stack is 00000000cd..00000000ef)", "stack overflow"},
	{"soft lockup", "watchdog: BUG: soft lockup - CPU#2 stuck for 22s! [sh:7]", "soft lockup"},
	{"hard lockup", "NMI watchdog: Watchdog detected hard LOCKUP on cpu 2", "hard lockup"},
	{"RCU stall", "rcu: INFO: rcu_preempt self-detected stall on CPU\nrcu: \t2-....: (5249 ticks this GP) idle=1c4c/1", "RCU stall"},
	{"hung task", "INFO: task sh:7 blocked for more than 120 seconds.\ntask:sh   state:D stack:0     pid:7    ppid:1      flags:0x00000000", "hung task"},
	{"KASAN", "==================================================================\nBUG: KASAN: slab-out-of-bounds in toy_write+0x5d/0x80 [toy]\nWrite of size 1 at addr ffff888006b8a0ff by task sh/7", "KASAN"},
	{"UBSAN", "UBSAN: shift-out-of-bounds in toy.c:61:3\nshift exponent 33 is too large for 32-bit type 'int'", "UBSAN"},
	{"sysrq-l", "sysrq: Show backtrace of all active CPUs\nNMI backtrace for cpu 2", "backtrace"},
	{"sysrq-p", "sysrq: Show Regs", "registers"},
	{"sysrq-t", "sysrq: Show State\ntask:sh   state:S stack:0     pid:7    ppid:1      flags:0x00000000", "task"},
	{"lkdtm", "lkdtm: Performing direct entry BUG\n------------[ cut here ]------------\nkernel BUG at drivers/misc/lkdtm/bugs.c:78!", "BUG"},
	{"dump_stack", "", "stack"},
}

// TestKinds: each kind of report, of each processor, is one thread with its chain, called by
// its kind.
func TestKinds(t *testing.T) {
	for _, cpu := range oopses {
		_, tail, _ := strings.Cut(cpu.log, "CPU: ")
		_, who, _ := strings.Cut(cpu.title, ": ")
		for _, kind := range kindLogs {
			t.Run(kind.name+"/"+cpu.name, func(t *testing.T) {
				want := kind.kind + ": " + who + "|" + cpu.want + "\n"
				if got := threadsOf(t, "boot text\n"+kind.head+"\nCPU: "+tail); got != want {
					t.Errorf("got  %s\nwant %s", got, want)
				}
			})
		}
	}
}

// TestTasks: each task of sysrq-t and sysrq-w, and a hung task, is a thread.
func TestTasks(t *testing.T) {
	const log = `
sysrq: Show State
task:init            state:S stack:0     pid:1     ppid:0      flags:0x00000004
Call trace:
 __switch_to+0xe8/0x120
 do_wait+0x174/0x32c
 el0t_64_sync+0x18c/0x190
task:kthreadd        state:S stack:0     pid:2     ppid:0      flags:0x00000008
Call trace:
 __switch_to+0xe8/0x120
 kthreadd+0x1f4/0x290
 ret_from_fork+0x10/0x20
INFO: task cat:95 blocked for more than 120 seconds.
      Not tainted 6.1.0-test-arm64 #1
"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
task:cat             state:D stack:0     pid:95    ppid:1      flags:0x00000000
Call trace:
 __switch_to+0xe8/0x120
 el0t_64_sync+0x18c/0x190
`
	want := "task: PID 1 init|__switch_to do_wait el0t_64_sync.\ntask: PID 2 kthreadd|__switch_to kthreadd ret_from_fork.\nhung task: PID 95 cat|__switch_to el0t_64_sync.\n"
	if got := threadsOf(t, log); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestStackless: a message that shows no stack does not name the report that follows.
func TestStackless(t *testing.T) {
	for _, says := range []string{"Kernel panic - not syncing: Fatal exception\nKernel Offset: disabled", "BUG: Bad rss-counter state mm:00000000c2f1a2d3 idx:1 val:512"} {
		const want = "oops: CPU 0 PID 7 sh|toy_a entry_SYSCALL_64_after_hwframe.\n"
		if got := threadsOf(t, says+`
general protection fault, probably for non-canonical address 0xdead000000000100: 0000 [#1] SMP
CPU: 0 PID: 7 Comm: sh Not tainted 6.5.0-test #1
Call Trace:
 toy_a+0x58/0x100
 entry_SYSCALL_64_after_hwframe+0x76/0x7e
`); got != want {
			t.Errorf("%s: %s, want %s", says, got, want)
		}
	}
}

// TestFork: on x86 since Linux 6.6 ret_from_fork is a function that ret_from_fork_asm calls.
func TestFork(t *testing.T) {
	const log = `
task:kthreadd        state:S stack:0     pid:2     tgid:2     ppid:0      flags:0x00004000
Call Trace:
 <TASK>
 schedule+0x27/0xf0
 kthreadd+0x29e/0x2e0
 ret_from_fork+0x34/0x50
 ? __pfx_kthreadd+0x10/0x10
 ret_from_fork_asm+0x1a/0x30
 </TASK>
`
	for _, cpu := range oopses {
		want := "task: PID 2 kthreadd|schedule kthreadd ret_from_fork ?__pfx_kthreadd ret_from_fork_asm.\n"
		if got := threadsOf(t, cpu.log+log); cpu.name == "x86-64" && !strings.HasSuffix(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestRISCV: Linux 6.12 enters the kernel at handle_exception from programs, which ends a chain, and from the
// kernel, which does not. Behind a call to address 0 the kernel lists no chain.
func TestRISCV(t *testing.T) {
	const regs = `
epc : ffffffff80314d4c ra : ffffffff803152b6 sp : ff20000000343c90
 gp : ffffffff81db6718 tp : ff60000002e01c80 t0 : ffffffff81001260
status: 0000000200000120 badaddr: 000000000000001c cause: 000000000000000d
`
	for _, c := range []struct{ name, log, want string }{
		{"system call", `Unable to handle kernel access to user memory without uaccess routines at virtual address 000000000000001c
Oops [#1]
CPU: 0 UID: 0 PID: 250 Comm: init Not tainted 6.12.107+deb13-riscv64 #1  Debian 6.12.107-1
epc : vfs_write+0x12/0x3ba
 ra : ksys_write+0xb2/0xe8` + regs + `[<ffffffff80314d4c>] vfs_write+0x12/0x3ba
[<ffffffff803152b6>] ksys_write+0xb2/0xe8
[<ffffffff80a69d60>] do_trap_ecall_u+0x94/0x1ea
[<ffffffff80a76776>] handle_exception+0x14a/0x156
Code: 2440 0013 0000 0013 0000 7135 e922 ed06 e14a 1100 (455c) 3703
`, "oops: CPU 0 PID 250 init|vfs_write! ksys_write do_trap_ecall_u handle_exception."},
		{"interrupt", `CPU: 0 UID: 0 PID: 1 Comm: init Not tainted 6.12.107+deb13-riscv64 #1
Call Trace:
[<ffffffff80a5b5ca>] show_stack+0x38/0x44
[<ffffffff80a69e00>] do_irq+0x40/0x80
[<ffffffff80a76776>] handle_exception+0x14a/0x156
[<ffffffff80a6e28c>] default_idle_call+0x36/0xd4
`, "stack: CPU 0 PID 1 init|show_stack do_irq handle_exception default_idle_call!"},
		{"call to address 0", `Unable to handle kernel access to user memory without uaccess routines at virtual address 0000000000000000
Oops [#1]
CPU: 0 UID: 0 PID: 201 Comm: busybox Not tainted 6.12.107+deb13-riscv64 #1
epc : 0x0
 ra : ksys_read+0xb2/0xe8` + strings.NewReplacer("ffffffff80314d4c", "0000000000000000", "000000000000001c", "0000000000000000").Replace(regs) + `Code: Unable to access instruction at 0xffffffffffffffec.
---[ end trace 0000000000000000 ]---
`, "oops: CPU 0 PID 201 busybox|ksys_read"},
	} {
		if got := threadsOf(t, c.log); got != c.want+"\n" {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

// threadsOf writes the threads of a log, one a line.
func threadsOf(t testing.TB, log string) string {
	var b strings.Builder
	for _, s := range snapshots(t, log) {
		for i := range s.Threads {
			b.WriteString(s.Threads[i].Name + "|" + chainOf(&s.Threads[i]) + "\n")
		}
	}
	return b.String()
}

// TestTwoCPUs: lines of two CPUs that print at a time belong to two reports, where the
// kernel says who printed which.
func TestTwoCPUs(t *testing.T) {
	const log = `
[    1.000001][   T10] WARNING: CPU: 0 PID: 10 at toy.c:1 a+0x1/0x2
[    1.000002][   T11] WARNING: CPU: 1 PID: 11 at toy.c:1 b+0x1/0x2
[    1.000003][   T10] Call trace:
[    1.000004][   T11] Call trace:
[    1.000005][   T11]  b+0x1/0x2
[    1.000006][   T10]  a+0x1/0x2
[    1.000007][    T1] eth0: link is up
[    1.000008][   T11]  el0t_64_sync+0x1/0x2
[    1.000009][   T10]  el0t_64_sync+0x1/0x2
[    1.000010][   T10] ---[ end trace 0000000000000000 ]---
[    1.000011][   T11] ---[ end trace 0000000000000000 ]---
`
	want := "warning: CPU 0 PID 10|a el0t_64_sync.\nwarning: CPU 1 PID 11|b el0t_64_sync.\n"
	if got := threadsOf(t, log); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestOtherTextBetween: what else was printed between the lines of a report is left out.
func TestOtherTextBetween(t *testing.T) {
	log := strings.ReplaceAll(oopses[4].log, "\n", "\nrandom: crng init done\n  (some daemon) x: 12+0x\n")
	if got := threadsOf(t, log); got != oopses[4].title+"|"+oopses[4].want+"\n" {
		t.Errorf("got %s", got)
	}
}

// TestOldKernels: chains and registers as Linux 3 and 4 printed them.
func TestOldKernels(t *testing.T) {
	const x86 = `BUG: unable to handle kernel NULL pointer dereference at 0000000000000010
IP: [<ffffffffa0000010>] leaf+0x10/0x20 [toy]
Oops: 0000 [#1] SMP
CPU: 0 PID: 99 Comm: sh Not tainted 3.16.0-4-amd64 #1
RIP: 0010:[<ffffffffa0000010>]  [<ffffffffa0000010>] leaf+0x10/0x20 [toy]
RSP: 0018:ffff88003dbc3e28  EFLAGS: 00010246
Stack:
 ffffffffa0000042 ffffffff8116bbf4 0000000000000000 0000000000000005
 <IRQ> ffff88003dbc3f00 0000000000000001
Call Trace:
 [<ffffffffa0000042>] ? mid+0x12/0x20 [toy]
 [<ffffffff8116bbf4>] top+0xa4/0x1b0
`
	const arm = `Unable to handle kernel NULL pointer dereference at virtual address 00000010
Internal error: Oops: 5 [#1] ARM
PC is at leaf+0x10/0x20
pc : [<c0012345>]    lr : [<c0045678>]    psr: 60000013
Backtrace:
[<c0012335>] (leaf+0x0/0x20) from [<c0045678>] (mid+0x10/0x20)
[<c0045668>] (mid) from [<c000e500>] (ret_fast_syscall+0x0/0x30)
`
	want := "oops: CPU 0 PID 99 sh|leaf! ?mid top\noops|leaf! mid ret_fast_syscall!.\n"
	if got := threadsOf(t, x86+arm); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	s := snapshots(t, x86)[0]
	checkRegisters(t, s.Arch, &s.Threads[0], "rip=ffffffffa0000010 rsp=ffff88003dbc3e28")
	checkMemory(t, s.Arch, &s.Threads[0], "ffff88003dbc3e28=ffffffffa0000042 ffff88003dbc3e40=5 ffff88003dbc3e50=1")
}

// TestInterruptedOn386: without a segment, too, the place that was interrupted is the next frame; user space's is none.
func TestInterruptedOn386(t *testing.T) {
	log := strings.Replace(oopses[5].log, " entry_INT80_32", " asm_sysvec_apic_timer_interrupt+0xf7/0xf7\nEIP: delay_tsc+0x2f/0x90\nEAX: 00000010 EBX: c1d0e280\n entry_INT80_32", 1)
	if got := threadsOf(t, log); !strings.HasSuffix(got, "|leaf! mid asm_sysvec_apic_timer_interrupt delay_tsc! entry_INT80_32.\n") {
		t.Error(got)
	}
	if got := gaps(t, log); strings.Contains(got, "delay_tsc") {
		t.Errorf("gaps before %s", got)
	}
}

// TestOldProcess: before Linux 3.10, the line that names the process had no processor.
func TestOldProcess(t *testing.T) {
	log := "Pid: 95, comm: sh Tainted: G        W    3.2.0-4-amd64 #1 Debian 3.2.102-1\nCall Trace:\n [<ffffffff81046cbd>] top+0x78/0x8c\n"
	if got, want := threadsOf(t, log), "stack: PID 95 sh|top\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := gaps(t, log); got != "" {
		t.Errorf("gaps before %q", got)
	}
}

// TestMicrocontroller: registers that a microcontroller prints, with 0x right behind the
// colon, are no kernel's.
func TestMicrocontroller(t *testing.T) {
	if got := threadsOf(t, "Unhandled interrupt (3), exception sp 0x20001f18\nr12:0x00000000  lr:0x00008b95  pc:0x000098c1 psr:0x61000000\n"); got != "" {
		t.Error(got)
	}
}

// TestPushedRegisters: ARM's unwinder over frame pointers shows what functions had pushed. These are no registers of
// the report, and the chain goes on behind them.
func TestPushedRegisters(t *testing.T) {
	log := `WARNING: CPU: 0 PID: 81 at toy.c:59 warn_c+0x3c/0x48 [toy]
CPU: 0 PID: 81 Comm: sh Tainted: G           O      5.10.0-32-armmp #1 Debian 5.10.223-1
Backtrace: 
[<c0d0d7ac>] (warn_slowpath_fmt) from [<bf0002c8>] (warn_c+0x3c/0x48 [toy])
 r8:01b5fab8 r7:c1af56c0 r6:bf0022c0 r5:00000000 r4:00000003
[<bf00028c>] (warn_c [toy]) from [<c0598704>] (vfs_write+0xf8/0x43c)
 r4:00000005
[<c059860c>] (vfs_write) from [<c03000c0>] (ret_fast_syscall+0x0/0x54)
---[ end trace 998915336b12e567 ]---
 r7:0000003b r6:60000013
`
	if got, want := threadsOf(t, log), "warning: CPU 0 PID 81 sh|warn_slowpath_fmt! warn_c vfs_write ret_fast_syscall!.\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	snap := snapshots(t, log)[0]
	if l := snap.Threads[0].Listed[1]; l.Module != "toy" || l.Size != 0x48 || len(issuesOf(t, log, target.IssueCapture)) != 0 || snap.Threads[0].Regs.Known.Len() != 0 {
		t.Errorf("listed %+v, issues %v, registers %v", l, snap.Issues, snap.Threads[0].Regs)
	}
}

// TestTracedOverFramePointers: a tracer has replaced return addresses, but ARM's unwinder over frame pointers says where
// each function begins that it comes to: the callers are known by name, and one more closely by the link register
// or by where the warning was raised.
func TestTracedOverFramePointers(t *testing.T) {
	const chain = `
[<bf00002c>] (mid_c [toy]) from [<c0313cc4>] (return_to_handler+0x0/0x18)
[<bf00071c>] (write [toy]) from [<c0313cc4>] (return_to_handler+0x0/0x18)
[<c0598c4c>] (sys_write) from [<c0313cc4>] (return_to_handler+0x0/0x18)
`
	for log, want := range map[string]string{
		`Internal error: Oops: 5 [#1] ARM
PC is at leaf+0x20/0x2c [toy]
LR is at mid_c+0x2c/0x34 [toy]
pc : [<bf000020>]    lr : [<bf000058>]    psr: a0070013
Backtrace:
[<bf000000>] (leaf [toy]) from [<c0313cc4>] (return_to_handler+0x0/0x18)`: "bf000020 leaf, bf000058 mid_c",
		`WARNING: CPU: 0 PID: 84 at toy.c:59 mid_c+0x2c/0x34 [toy]
CPU: 0 PID: 84 Comm: sh Tainted: G        W  O      5.10.0-32-armmp #1 Debian 5.10.223-1
Backtrace:
[<c034dfa0>] (__warn) from [<c0d0d84c>] (warn_slowpath_fmt+0xa4/0xe4)
[<c0d0d7ac>] (warn_slowpath_fmt) from [<c0313cc4>] (return_to_handler+0x0/0x18)`: "0 __warn, c0d0d84c warn_slowpath_fmt, bf000058 mid_c",
	} {
		var got []string
		for _, l := range snapshots(t, log+chain)[0].Threads[0].Listed {
			got = append(got, fmt.Sprintf("%x %s", l.PC, l.Symbol))
		}
		if s := strings.Join(got, ", "); s != want+", 0 write, 0 sys_write, c0313cc4 return_to_handler" {
			t.Errorf("%s\nwant %s …", s, want)
		}
	}
}

// TestWarningSaysWho: where the line with the task was lost, Linux 7's warning itself says who warned, and where.
func TestWarningSaysWho(t *testing.T) {
	h, _, ok := heads("WARNING: kernel/toy.c:59 at warn_c+0x16/0x30 [toy], CPU#2: kworker/2:1/71")
	if !ok || h.cpu != 2 || h.pid != 71 || h.comm != "kworker/2:1" || h.at.symbol != "warn_c" || h.at.module != "toy" || h.at.offset != 0x16 {
		t.Errorf("%+v", h)
	}
}

// TestKindsOfARM: what arm64 and Cortex-M say of exceptions that nobody asked for.
func TestKindsOfARM(t *testing.T) {
	for text, want := range map[string]string{
		"SError Interrupt on CPU2, code 0x00000000be000011 -- SError":                          "SError",
		"Kernel panic - not syncing: Asynchronous SError Interrupt":                            "panic",
		"Bad mode in Synchronous Abort handler detected, code 0x86000005 -- IABT (current EL)": "oops",
		"Unhandled exception: IPSR = 00000005 LR = fffffff1":                                   "oops",
		"CPU3: stopping":                         "stopped",
		"potentially unexpected fatal signal 6.": "fatal signal",
		"a-long-toy-name[28134]: unhandled level 1 translation fault (11) at 0x00000000, esr 0x92000005":                        "user fault",
		"toyd[7]: unhandled exception: DABT (lower EL), ESR 0x0000000092000005, level 1 translation fault in toyd[400000+1000]": "user fault",
		"toyd: unhandled page fault (11) at 0x00000000, code 0x017":                                                             "user fault",
	} {
		h, _, ok := heads(text)
		if crash := want != "stopped" && want != "fatal signal" && want != "user fault"; !ok || h.crash != crash || h.what != want {
			t.Errorf("%q: %+v", text, h)
		}
	}
}

// TestDumpsOfStall: RCU shows the task of each processor that stalls.
func TestDumpsOfStall(t *testing.T) {
	const log = `
INFO: rcu_sched detected stalls on CPUs/tasks:
        0-...: (1 GPs behind) idle=d09/1/0 softirq=1302/3861 fqs=20997
        (detected by 3, t=21010 jiffies, g=-93, c=-94, q=1)
Task dump for CPU 0:
swapper/0       R  running task        0     0      0 0x00000002
Call trace:
[<ffffffc000086ed4>] __switch_to+0xd4/0xf8
[<          (null)>]           (null)
Task dump for CPU 2:
sh              R  running task        0    95      1 0x00000000
Call trace:
[<ffffffc000086ed4>] __switch_to+0xd4/0xf8
`
	if got, want := threadsOf(t, log), "RCU stall: CPU 0 PID 0 swapper/0|__switch_to\nRCU stall: CPU 2 PID 95 sh|__switch_to\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestFurtherLines: ARM's kernels of Linux 4.9 and before print the PC and the stack pointer by one message of two lines, of which the
// second has no prefix: who printed the first has printed it.
func TestFurtherLines(t *testing.T) {
	const log = `
[    1.000001] [c4] Internal error: Oops: 5 [#1] PREEMPT SMP ARM
[    1.000002] [c4] CPU: 4 PID: 485 Comm: sh Tainted: G           O 3.10.82 #1
[    1.000003] [c4] PC is at leaf+0x14/0x20
[    1.000004] [c4] LR is at mid+0x24/0x2c
[    1.000005] [c4] pc : [<bf000014>]    lr : [<bf000044>]    psr: 600e0013
               sp : c5f2dcb0  ip : c6225510  fp : c5f2dd3c
[    1.000006] [c4] [<bf000014>] (leaf+0x14/0x20) from [<bf000044>] (mid+0x24/0x2c)
[    1.000007] [c4] [<bf000044>] (mid+0x24/0x2c) from [<c000e640>] (ret_fast_syscall+0x0/0x30)
`
	s := snapshots(t, log)[0]
	if sp, ok := s.Threads[0].Regs.Lookup(s.Arch.SP); !ok || sp != 0xc5f2dcb0 || len(s.Threads) != 1 || len(issuesOf(t, log, target.IssueCapture)) != 0 {
		t.Errorf("sp %#x, %v", sp, s.Issues)
	}
}

// TestStopped: the stacks of the processors that a panic stops are reports of their own, one behind the other.
func TestStopped(t *testing.T) {
	const log = `
Kernel panic - not syncing: Fatal exception in interrupt
CPU0: stopping
CPU: 0 PID: 0 Comm: swapper/0 Tainted: G      D    O    4.4.19-toy #4
[<80018784>] (unwind_backtrace) from [<800140b8>] (show_stack+0x20/0x24)
[<800140b8>] (show_stack) from [<80016ab4>] (handle_IPI+0x2a8/0x2bc)
[<80016ab4>] (handle_IPI) from [<8000807c>] (0x8000807c)
CPU3: stopping
CPU: 3 PID: 0 Comm: swapper/3 Tainted: G      D    O    4.4.19-toy #4
[<80018784>] (unwind_backtrace) from [<800140b8>] (show_stack+0x20/0x24)
[<800140b8>] (show_stack) from [<8001444c>] (secondary_start_kernel+0x134/0x154)
---[ end Kernel panic - not syncing: Fatal exception in interrupt
`
	want := "stopped: CPU 0 PID 0 swapper/0|unwind_backtrace! show_stack handle_IPI \nstopped: CPU 3 PID 0 swapper/3|unwind_backtrace! show_stack secondary_start_kernel\n"
	if got := threadsOf(t, log); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, issue := range snapshots(t, log)[0].Issues {
		if issue.Kind == target.IssueCapture {
			t.Error(issue.Text)
		}
	}
}
