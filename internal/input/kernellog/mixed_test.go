package kernellog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/target"
)

// TestMixedBeginnings: where a report begins within another's chain, the lines of both follow.
func TestMixedBeginnings(t *testing.T) {
	const first, second = "CPU: 0 PID: 10 Comm: sh Not tainted 6.1.0-6-5kc-malta #1\n", "CPU: 1 PID: 11 Comm: sh Not tainted 6.1.0-6-5kc-malta #1\n"
	const header, stack, a, b, root = "Call Trace:\n", "[<ffffffff8153c1b0>] show_stack+0x70/0x168\n", "[<ffffffff81aba054>] a+0x8c/0x140\n",
		"[<ffffffff81abb054>] b+0x8c/0x140\n", "[<ffffffff817ac474>] syscall_common+0x34/0x58\n"
	const apart = "\n---[ end trace 0000000000000000 ]---\n"
	for _, c := range []struct {
		what, log string
		mixed     bool
	}{
		{"one behind the other", first + header + stack + a + apart + second + header + stack + b + root, false},
		{"a chain that ends early", first + header + stack + a + "\n" + second + header + stack + b + root, false},
		{"a whole chain, and the next report at once", first + header + stack + a + root + second + header + stack + b + root, false},
		{"the process of another within a chain", first + header + stack + a + second + header + b + root, true},
		{"the header of another within a chain", first + header + stack + a + header + stack + b + root, true},
		{"two processes, two chains", first + second + header + stack + a + b + root, true},
		{"two headers in a row", first + header + header + stack + a + b + root, true},
		{"entries in front of the header", first + b + header + stack + a + root, true},
		{"two beginnings of chains", first + header + stack + a + stack + b + root, true},
	} {
		th := snapshots(t, c.log)[0].Threads
		l := th[len(th)-1].Listed
		if l[len(l)-1].Searched != c.mixed {
			t.Errorf("%s: mixed is %v: %+v", c.what, !c.mixed, l)
		}
	}
}

// TestClean: what whole logs have that looks as if another report were printed into them.
func TestClean(t *testing.T) {
	const process = "CPU: 0 PID: 7 Comm: sh Not tainted 6.1.0-6-amd64 #1\n"
	for what, log := range map[string]string{
		"a stale entry of a system call": "WARNING: bad\n" + process + "Call Trace:\n a+0x4/0x10\n ? entry_SYSCALL_64_fastpath+0x23/0x9a\n b+0x4/0x10\n do_syscall_64+0x4/0x10\n entry_SYSCALL_64_after_hwframe+0x4/0x10\n",
		"a PC of NULL": "BUG: kernel NULL pointer dereference at 0000000000000000\n" + process + "RIP: 0010:          (null)\nRSP: 0018:ffff8801afb4f3a0 EFLAGS: 00010246\n" +
			"Call Trace:\n a+0x4/0x10\n do_syscall_64+0x4/0x10\n entry_SYSCALL_64_after_hwframe+0x4/0x10\n",
		"who disabled preemption, and a panic": "BUG: scheduling while atomic: sh/7/0x2\nPreemption disabled at:\n[<ffffffff812b2934>] begin+0x64/0x260\n" +
			"Kernel panic - not syncing: scheduling while atomic\n" + process + "Call Trace:\n a+0x4/0x10\n do_syscall_64+0x4/0x10\n entry_SYSCALL_64_after_hwframe+0x4/0x10\n",
	} {
		snap := snapshots(t, log)[0]
		for _, issue := range snap.Issues {
			if strings.Contains(issue.Text, "two reports") || strings.Contains(issue.Text, "register rip") {
				t.Errorf("%s: %s", what, issue.Text)
			}
		}
		if l := snap.Threads[0].Listed; len(l) < 3 || l[len(l)-1].Symbol != "entry_SYSCALL_64_after_hwframe" {
			t.Errorf("%s: %+v", what, l)
		}
	}
}

// TestChainElsewhere: a chain that does not begin where the processor stood lacks lines, or is another report's.
func TestChainElsewhere(t *testing.T) {
	for i, first := range []string{"[    5.180361]  leaf+0x18/0x24 [toy]\n", " leaf [toy] from mid+0x24/0x2c [toy]\n", "[<c00a5020>] leaf+0x20/0x2c [toy]\n"} {
		log := strings.Replace(oopses[i].log, first, "", 1)
		th := &snapshots(t, log)[0].Threads[0]
		if last := th.Listed[len(th.Listed)-1]; th.Listed[0].Symbol != "leaf" || !last.Gap || !last.Searched {
			t.Errorf("%s: %+v", oopses[i].name, th.Listed)
		}
	}
}

// TestNowhereOnARM: ARM's chain begins with the name of the function that called nowhere, which the link register has.
func TestNowhereOnARM(t *testing.T) {
	at := strings.NewReplacer("PC is at leaf+0x14/0x20 [toy]", "PC is at 0x0", "pc : [<bf000014>]", "pc : [<00000000>]", " leaf [toy] from mid+0x24/0x2c [toy]\n", "")
	whole := at.Replace(oopses[1].log)
	for log, sure := range map[string]bool{whole: true, strings.NewReplacer("LR is at", "LR", "    lr : [", "    lr [").Replace(whole): false} {
		l := snapshots(t, log)[0].Threads[0].Listed
		if l[0].Symbol != "mid" || l[1].Searched == sure || sure && (l[0].PC != 0xbf000044 || l[0].Exact) {
			t.Errorf("sure %v: %+v", sure, l)
		}
	}
}

// TestTwoPlacesOfPC: on arm64 the chain begins where the PC is, in the PC's function elsewhere.
func TestTwoPlacesOfPC(t *testing.T) {
	log := strings.Replace(oopses[0].log, "pc : leaf+0x18", "pc : leaf+0x1c", 1)
	if l := snapshots(t, log)[0].Threads[0].Listed; !l[0].Gap {
		t.Errorf("%+v", l)
	}
}

// TestMixedWithinRegisters: what reports print twice is the same twice; x86 prints registers within a chain behind the place
// of interrupted code alone.
func TestMixedWithinRegisters(t *testing.T) {
	for _, c := range []struct {
		what, log, old, new string
		mixed               bool
	}{
		{"the link register of MIPS", mipsOops, "ra    : c00a506c", "ra    : c00a546c", true},
		{"the process", mipsOops, "Stack :", "Process sh (pid: 99, threadinfo=66fb2bf2)\nStack :", true},
		{"the process, and the same", mipsOops, "Stack :", "Process sh (pid: 98, threadinfo=66fb2bf2)\nStack :", false},
		{"the stack of MIPS", mipsOops, "Call Trace:", "Stack : 000001e9 c00a50fc\nCall Trace:", true},
		{"the stack of ARM", oopses[1].log, "Stack: (0xca911db0", "Stack: (0xca912db0", true},
		{"registers within a chain of x86", oopses[4].log, " mid+0x13/0x20 [toy]", " mid+0x13/0x20 [toy]\nRAX: 0000000000000010 RBX: 0000000000000006", true},
		{"registers of interrupted code", oopses[4].log, " crashy_write", "RAX: 0000000000000010 RBX: 0000000000000006\n crashy_write", false},
		{"two stacks of ARM", oopses[1].log, " leaf [toy] from", "Stack: (0xca911db0 to 0xca912000)\n leaf [toy] from", true},
	} {
		said := fmt.Sprint(snapshots(t, strings.Replace(c.log, c.old, c.new, 1))[0].Issues)
		if strings.Contains(said, "printed into one another") != c.mixed {
			t.Errorf("%s: %s", c.what, said)
		}
	}
}

// TestCalledNowhere: without registers, a chain that begins at address 0 lacks the caller of that, which only the link
// register had.
func TestCalledNowhere(t *testing.T) {
	const log = "Linux version 6.1.0-test-arm64\nCPU: 0 PID: 99 Comm: sh Not tainted 6.1.0-test #1\nCall trace:\n 0x0\n caller+0x18/0x30 [toy]\n el0t_64_sync+0x18c/0x190\n"
	if got := gaps(t, log); got != "caller" {
		t.Errorf("gaps before %q", got)
	}
}

// TestInterruptedElsewhere: the place that an interrupt found is behind the entry code of one; behind another function it is
// of another chain, or a line is lost.
func TestInterruptedElsewhere(t *testing.T) {
	log := strings.Replace(oopses[4].log, "[   17.096429]  asm_sysvec_apic_timer_interrupt+0x16/0x20\n", "", 1)
	if got := gaps(t, log); !strings.Contains(got, "delay_tsc") {
		t.Errorf("gaps before %q", got)
	}
}

// TestPlaceBelowKernel: a symbol of the kernel and an address that is none of the kernel's are of two reports.
func TestPlaceBelowKernel(t *testing.T) {
	for epc, known := range map[string]bool{"ffffffff0143600c": true, "0000000012345678": false} {
		s := snapshots(t, strings.Replace(oopses[6].log, "epc : ffffffff0143600c", "epc : "+epc, 1))[0]
		if _, ok := s.Threads[0].Regs.Lookup(s.Arch.PC); ok != known {
			t.Errorf("%s: the PC is known: %v", epc, ok)
		}
	}
}

// TestOtherFault: the first line of a report says where the fault was, and so do registers, or they are of another report.
func TestOtherFault(t *testing.T) {
	for _, c := range []struct{ name, from, to string }{
		{"MIPS", "", ""},
		{"MIPS", "epc == c00a5020", "epc == c00a6020"},
		{"MIPS", "virtual address 00000010", "virtual address 00000020"},
		{"MIPS", "epc == c00a5020", "epc == c00a60"}, // cut off
		{"RISC-V", "", ""},
		{"RISC-V", "badaddr: 0000000000000010", "badaddr: 0000000000000020"},
	} {
		for _, o := range oopses {
			if o.name != c.name {
				continue
			}
			mixed := strings.Contains(strings.Join(issuesOf(t, strings.Replace(o.log, c.from, c.to, 1), target.IssueCapture), ""), "into one another")
			if want := len(c.to) == len(c.from) && c.to != ""; mixed != want {
				t.Errorf("%s, %s: mixed %v", c.name, c.to, mixed)
			}
		}
	}
}

// TestIdleTasksMixed: idle tasks of two processors, which have one process ID, that print into one another.
func TestIdleTasksMixed(t *testing.T) {
	const log = `
Insufficient stack space to handle exception!
CPU: 2 PID: 0 Comm: swapper/2 Not tainted 6.7.0-toy #17
CPU: 3 PID: 0 Comm: swapper/3 Not tainted 6.7.0-toy #17
pstate: 800000c5 (Nzcv daIF -PAN -UAO -TCO -DIT -SSBS BTYPE=--)
pc : leaf+0x4/0x58
pc : leaf+0x8/0x58
lr : mid+0x88/0xc8
`
	for _, l := range []string{log, strings.Replace(log, "pc : leaf+0x8/0x58\n", "", 1),
		strings.Replace(log, "CPU: 3 PID: 0 Comm: swapper/3 Not tainted 6.7.0-toy #17\n", "", 1)} {
		if said := fmt.Sprint(snapshots(t, l)[0].Issues); !strings.Contains(said, "printed into one another") {
			t.Errorf("%s\n%s", l, said)
		}
	}
}

// TestPrintedTwice: a boot console that is kept prints each message that the console prints, without a time. A recursion is in
// the chain as often as the kernel lists it.
func TestPrintedTwice(t *testing.T) {
	var log strings.Builder
	for i, line := range strings.Split(oopses[1].log, "\n") {
		fmt.Fprintf(&log, "<4>%s\n[   55.%06d] %s\n", line, i, line)
	}
	if got, want := threadsOf(t, log.String()), threadsOf(t, oopses[1].log); got != want {
		t.Errorf("got %swant %s", got, want)
	}
	twice := strings.Replace(oopses[0].log, " top+0x58", " leaf+0x18/0x24 [toy]\n[    5.180442]  leaf+0x18/0x24 [toy]\n[    5.180442]  top+0x58", 1)
	if got := chainOf(&snapshots(t, twice)[0].Threads[0]); strings.Count(got, "leaf") != 3 {
		t.Error(got)
	}
}

// TestTaskCut: where the chain of a task breaks off at the line of the next, lines of the two may be mixed. A task that
// runs has no chain to its end: the kernel prints address 0.
func TestTaskCut(t *testing.T) {
	const first, last, next = "task:a state:S stack:0 pid:1 ppid:0\nCall trace:\n __switch_to+0xe8/0x120\n", " ret_from_fork+0x10/0x20\n",
		"task:b state:S stack:0 pid:2 ppid:0\nCall trace:\n __switch_to+0xe8/0x120\n kthread+0x114/0x120\n ret_from_fork+0x10/0x20\n"
	for between, mixed := range map[string]bool{last: false, " 0x0\n": false, "": true} {
		said := strings.Join(issuesOf(t, first+between+next, target.IssueCapture), "\n")
		if strings.Contains(said, "printed into one another") != mixed {
			t.Errorf("%q between: said %q", between, said)
		}
	}
}

// TestDisorder: the lines of one chain are printed one after the other, each with its time.
func TestDisorder(t *testing.T) {
	const log = `[   12.345670] CPU: 0 PID: 99 Comm: sh Not tainted 6.1.0-test #1
[   12.345671] Call trace:
[   12.345679]  leaf+0x10/0x20
[   12.345680]  mid+0x10/0x20
[   12.345681]  el0t_64_sync_handler+0xf4/0x120
`
	for _, c := range []struct{ name, old, new, want string }{
		{"whole", "", "", "leaf mid el0t_64_sync_handler"},
		{"two lines have changed places", "12.345680", "12.345689", "leaf! mid! el0t_64_sync_handler!"},
		{"a line in two", "mid", "\nmid", "leaf mid! el0t_64_sync_handler!"},
		{"a name in two", "mid", "mi\nd", "leaf mid el0t_64_sync_handler"},
		{"a letter is none of a number", "mid+0x10", "mid+0x1m", "leaf el0t_64_sync_handler!"},
		{"a time in two", "5680]", "56\n80]", "leaf el0t_64_sync_handler!"},
	} {
		if got := gapsOf(&snapshots(t, strings.Replace(log, c.old, c.new, 1))[0].Threads[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestTwoAddressesOfPC: without the kernel's file, the register and the entry that name one place contradict each other.
func TestTwoAddressesOfPC(t *testing.T) {
	s := snapshots(t, strings.Replace(mipsOops, "epc   : c00a5020", "epc   : c04a5020", 1))[0]
	th := &s.Threads[0]
	if _, ok := th.Regs.Lookup(s.Arch.PC); ok || !th.Listed[0].Gap {
		t.Errorf("the PC is known: %v, %+v", ok, th.Listed[0])
	}
}
