package kernellog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/target"
)

// gaps are the symbols of a thread's chain before which frames may be missing.
func gaps(t *testing.T, log string) string {
	t.Helper()
	var names []string
	for _, l := range snapshots(t, log)[0].Threads[0].Listed {
		if l.Gap {
			names = append(names, l.Symbol)
		}
	}
	return strings.Join(names, " ")
}

// issuesOf are what is said of a log, of one kind.
func issuesOf(t *testing.T, log string, kind target.IssueKind) (texts []string) {
	t.Helper()
	for _, i := range snapshots(t, log)[0].Issues {
		if i.Kind == kind {
			texts = append(texts, i.Text)
		}
	}
	return texts
}

// TestLostMessages: where the console, the journal or syslog say that messages were lost, frames may
// be missing before the next entry of a chain.
func TestLostMessages(t *testing.T) {
	for _, loss := range []string{
		"** 12 printk messages dropped **",
		"[    5.180400] Lost 567 message(s)!",
		"[    5.180400] ** 1 printk messages dropped **",
		"Nov 22 05:00:01 host systemd-journald[212]: Missed 3 kernel messages",
		"Nov 22 05:00:01 host last message repeated 2 times",
	} {
		log := strings.Replace(oopses[0].log, "[    5.180442]", loss+"\n[    5.180442]", 1)
		if got := gaps(t, log); got != "top" {
			t.Errorf("%s: gaps before %q", loss, got)
		}
		if said := fmt.Sprint(snapshots(t, log)[0].Issues); !strings.Contains(said, "messages within a report were lost") {
			t.Errorf("%s: %s", loss, said)
		}
	}
}

// TestSnip: where somebody left lines of a chain out, frames are missing.
func TestSnip(t *testing.T) {
	for text, snip := range map[string]bool{"[...]": true, "...": true, "<snip>": true, "[snip]": true, "--- snip ---": true, "…": true, "": false, "-----": false, "</TASK>": false, "snippet": false} {
		snaps := snapshots(t, "CPU: 2 PID: 7 Comm: sh Not tainted 4.15.0-test #21\nCall Trace:\n <IRQ>\n toy_a+0x29/0x60\n"+text+"\n toy_b+0xa8/0x630\n entry_SYSCALL_64_after_hwframe+0x3d/0xa2\n")
		if got := snaps[0].Threads[0].Listed[1].Gap; got != snip {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// TestUnwinderComplains: what x86's unwinder says within a chain is no report, and frames may be missing there.
func TestUnwinderComplains(t *testing.T) {
	for _, says := range []string{"WARNING: kernel stack frame pointer at 00000000a91f745d in toyd:4321 has bad value 00000000f6e9d8e9",
		"WARNING: can't access registers at asm_exc_toy+0x1a/0x20"} {
		snaps := snapshots(t, `
CPU: 2 PID: 4321 Comm: toyd Not tainted 4.15.0-test #21
Call Trace:
 <IRQ>
 toy_a+0x29/0x60
`+says+`
unwind stack type:0 next_sp:          (null) mask:0x2 graph_idx:0
00000000a91f745d: ffffffffc483ad99 (toy_remove+0x39/0x50 [toy])
 toy_b+0xa8/0x630
 entry_SYSCALL_64_after_hwframe+0x3d/0xa2
`)
		if len(snaps) != 1 || len(snaps[0].Threads) != 1 || len(snaps[0].Issues) != 1 {
			t.Errorf("%s: %+v", says, snaps)
			continue
		}
		if got, want := doubtsOf(&snaps[0].Threads[0]), "toy_a ~toy_b entry_SYSCALL_64_after_hwframe."; got != want {
			t.Errorf("%s: %s, want %s", says, got, want)
		}
	}
}

// TestLostStackWords: behind a loss nobody knows where further words of the stack belong.
func TestLostStackWords(t *testing.T) {
	const line = "        00000009 00000009 00000009 00000009 00000009 00000009 00000009 00000009\n"
	log := strings.Replace(mipsOops, "Call Trace:", "** 1 printk messages dropped **\n"+line+"Call Trace:", 1)
	if words := snapshots(t, log)[0].Threads[0].Memory.Bytes(0x814d9fe0); len(words) != 8*4 {
		t.Errorf("%d bytes of the stack", len(words))
	}
}

// TestLostLine: a report that lacks a line of registers may lack entries of its chain as well.
func TestLostLine(t *testing.T) {
	if got := gaps(t, oopses[0].log); got != "" {
		t.Errorf("a whole report: gaps before %q", got)
	}
	before, after, _ := strings.Cut(oopses[0].log, "[    5.180210]")
	_, after, _ = strings.Cut(after, "\n")
	if got := gaps(t, before+after); got != "leaf mid top el0t_64_sync" {
		t.Errorf("without a line: gaps before %q", got)
	}
	if said := fmt.Sprint(snapshots(t, before+after)[0].Issues); !strings.Contains(said, "the one with register x17") {
		t.Error(said)
	}
}

// TestLostStackLine: MIPS prints 40 words of the stack and an ellipsis, or all words up to the page's end.
func TestLostStackLine(t *testing.T) {
	const line = "        00000009 00000009 00000009 00000009 00000009 00000009 00000009 00000009\n"
	further := strings.Replace(mipsOops, "814d9fe0", "814d9d00", 1)
	for _, c := range []struct {
		what, log, lines string
		lost             bool
	}{
		{"up to the page's end", mipsOops, "", false},
		{"all", further, strings.Repeat(line, 4) + "        ...\n", false},
		{"a line is lost", further, strings.Repeat(line, 3) + "        ...\n", true},
		{"the ellipsis is lost", further, strings.Repeat(line, 4), true},
		{"the first line is lost", strings.Replace(further, "Stack :", "Stuck", 1), "", true},
		{"the registers' last line is lost", strings.Replace(mipsOops, "$28   :", "", 1), "", true},
		{"the line with epc is lost", strings.Replace(mipsOops, "epc   :", "", 1), "", true},
	} {
		log := strings.Replace(c.log, "Call Trace:", c.lines+"Call Trace:", 1)
		if said := fmt.Sprint(snapshots(t, log)[0].Issues); strings.Contains(said, "lines of a report are missing") != c.lost {
			t.Errorf("%s: %s", c.what, said)
		}
	}
}

// TestLostPC: arm64's list begins where the PC is. Without the line that says so, the link register
// still says who called the first function of the list.
func TestLostPC(t *testing.T) {
	log := strings.Replace(oopses[0].log, "pc : ", "pc ", 1)
	l := snapshots(t, log)[0].Threads[0].Listed
	if len(l) < 2 || !l[0].Exact || !l[1].Gap {
		t.Errorf("%+v", l)
	}
}

// TestMixedReports: where two processors print at a time and lines do not say whose they are, each of
// them may be of the other's report. What is left is where a processor stood, and entries that code
// has to choose from.
func TestMixedReports(t *testing.T) {
	const first = "WARNING: CPU: 0 PID: 10 at toy.c:1 a+0x1/0x2\npc : a+0x1/0x2 [toy]\nlr : b+0x1/0x2 [toy]\nsp : ffff80000825b860\n"
	for _, c := range []struct{ what, log string }{
		{"a register has two values", first + "sp : ffff80000925b860\nCall trace:\n a+0x1/0x2 [toy]\n el0t_64_sync+0x1/0x2\n"},
		{"a chain begins before its header", first + "pstate: 00000005\n a+0x1/0x2 [toy]\n c+0x1/0x2\n"},
		{"a chain goes on behind the outermost frame", first + "Call trace:\n a+0x1/0x2 [toy]\n el0t_64_sync+0x1/0x2\n c+0x1/0x2\n"},
	} {
		s := snapshots(t, "Linux version 6.1.0-test-arm64\n"+c.log)[0]
		th := &s.Threads[0]
		if _, ok := th.Regs.Lookup(s.Arch.SP); ok || th.Listed[0].Symbol != "a" {
			t.Errorf("%s: SP known: %v, %+v", c.what, ok, th.Listed)
		}
		for _, l := range th.Listed[1:] {
			if l.Symbol == "b" || !l.Gap || !l.Searched {
				t.Errorf("%s: %+v", c.what, l)
			}
		}
		if said := fmt.Sprint(s.Issues); !strings.Contains(said, "printed into one another") {
			t.Errorf("%s: %s", c.what, said)
		}
	}
}

// TestMixedOnMIPS: where another chain begins within a chain that began at the PC, nothing is sure but the PC.
func TestMixedOnMIPS(t *testing.T) {
	log := strings.Replace(mipsOops, "[<c00a506c>] mid", "[<81b7be6c>] show_stack+0x70/0x164\n[<c00a506c>] mid", 1)
	s := snapshots(t, log)[0]
	if _, ok := s.Threads[0].Regs.Lookup(s.Arch.SP); ok || !strings.Contains(fmt.Sprint(s.Issues), "printed into one another") {
		t.Errorf("%v", s.Issues)
	}
	for _, l := range s.Threads[0].Listed[1:] {
		if !l.Gap {
			t.Errorf("%+v", l)
		}
	}
}

// TestStackOfOthers: /proc/PID/stack, read on the console behind a report, is none of the report's lines.
func TestStackOfOthers(t *testing.T) {
	log := oopses[0].log + "\n== /proc/10 kworker\n[<0>] rescuer_thread+0x38c/0x550\n[<0>] ret_from_fork+0x10/0x20\n"
	if said := issuesOf(t, log, target.IssueCapture); len(said) != 0 {
		t.Error(said)
	}
	log = strings.Replace(log, "[    5.181995] ---[ end trace 0000000000000000 ]---", "", 1)
	if said := issuesOf(t, log, target.IssueCapture); len(said) != 0 {
		t.Error(said)
	}
}

// TestLostPlaceOfWarning: where the line is lost that has the place of a warning, the first line of the
// report still says the place: the PC on x86, and the caller of what prints warnings elsewhere.
func TestLostPlaceOfWarning(t *testing.T) {
	const first = "WARNING: CPU: 0 PID: 99 at toy.c:59 warn_c+0x16/0x30 [toy]\nCPU: 0 PID: 99 Comm: sh Not tainted 6.1.0-test #1\n"
	for _, c := range []struct{ name, log, want string }{
		{"x86-64", first + `Code: 75 0a 48 <0f> 0b 8d
RSP: 0018:ffffcc80005cb930 EFLAGS: 00000202
RAX: 0000000000000010 RBX: 0000000000000006 RCX: 0000000000000000
Call Trace:
 <TASK>
 warn_b+0xe/0x20 [toy]
 entry_SYSCALL_64_after_hwframe+0x6e/0xd8
`, "warn_c! warn_b entry_SYSCALL_64_after_hwframe."},
		{"MIPS", first + `$ 0   : 00000000 81d4b3b4 00000010 c00a0000
Call Trace:
[<81b7be6c>] show_stack+0x70/0x164
[<81b9d6b8>] __warn+0xe8/0x11c
[<81b9d7c4>] warn_slowpath_fmt+0xb8/0xd8
[<c00a54a0>] warn_b+0x3c/0x54 [toy]
`, "show_stack! __warn warn_slowpath_fmt warn_c warn_b"},
		{"MIPS, and all lines behind are lost", first + `$ 0   : 00000000 81d4b3b4 00000010 c00a0000
Call Trace:
[<81b7be6c>] show_stack+0x70/0x164
[<8257a994>] dump_stack_lvl+0x60/0x80
`, "show_stack! dump_stack_lvl warn_c"},
	} {
		if got := chainOf(&snapshots(t, c.log)[0].Threads[0]); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestLostThreadStart: no function of a module begins a thread. The line of kthread was lost.
func TestLostThreadStart(t *testing.T) {
	for chain, want := range map[string]string{
		" kth_fn+0x14/0x18 [toy]\n kthread+0xe0/0xe4\n ret_from_fork+0x10/0x20\n":                               "",
		" kth_fn+0x14/0x18 [toy]\n ret_from_fork+0x10/0x20\n":                                                   "ret_from_fork",
		" kth_fn+0x14/0x18 [toy]\n ret_from_fork+0x31/0x50\n ret_from_fork_asm+0x1a/0x30\n":                     "ret_from_fork",
		" kth_fn+0x14/0x18 [toy]\n kthread+0xe0/0xe4\n ret_from_fork+0x31/0x50\n ret_from_fork_asm+0x1a/0x30\n": "",
		" kernel_init+0x14/0x18\n ret_from_fork+0x10/0x20\n":                                                    "",
	} {
		if got := gaps(t, "Linux version 6.1.0-test-arm64\nCPU: 0 PID: 99 Comm: kt Not tainted 6.1.0-test #1\nCall trace:\n"+chain); got != want {
			t.Errorf("%q: gaps before %q, want %q", chain, got, want)
		}
	}
}

// TestLostLineOfARM: a line names its callee, which is the caller of the line before, or that line was lost. The callee is
// in the chain all the same.
func TestLostLineOfARM(t *testing.T) {
	const head, lost = `
WARNING: CPU: 0 PID: 97 at toy.c:59 warn_c+0x30/0x34 [toy]
CPU: 0 PID: 97 Comm: sh Not tainted 6.1.0-6-armmp #1
 warn_c [toy] from warn_b+0x1c/0x28 [toy]
`, ` warn_b [toy] from warn_a+0x1c/0x28 [toy]
`
	const rest = ` warn_a [toy] from vfs_write+0xc0/0x2e4
 vfs_write from ret_fast_syscall+0x0/0x1c
---[ end trace 0000000000000000 ]---`
	for log, want := range map[string]string{head + lost + rest: "", head + rest: "warn_a "} {
		snaps := snapshots(t, log)
		if len(snaps) != 1 {
			t.Fatal("no report")
		}
		gaps := ""
		for _, l := range snaps[0].Threads[0].Listed {
			if l.Gap {
				gaps += l.Symbol + " "
			}
		}
		if gaps != want {
			t.Errorf("gaps before %q, want %q", gaps, want)
		}
	}
}

// TestLostPCOfMIPS: without the PC nobody knows whether the kernel unwound the stack or searched through its words.
func TestLostPCOfMIPS(t *testing.T) {
	const before, epc, after = `
Oops[#1]:
CPU: 0 PID: 99 Comm: sh Not tainted 6.1.0-6-4kc-malta #1
$ 0   : 00000000 00000001 00000002 00000003
$28   : 814d8000 814d9b60 814d9e00 c00a506c
`, `epc   : c00a5020 leaf+0x20/0x2c [toy]
ra    : c00a506c mid+0x40/0x54 [toy]
`, `Call Trace:
[<c00a5020>] leaf+0x20/0x2c [toy]
[<c00a506c>] mid+0x40/0x54 [toy]
[<81e6ebe8>] vfs_write+0xe4/0x4b4
[<81b8ad4c>] syscall_common+0x34/0x58
---[ end trace 0000000000000000 ]---`
	for log, searched := range map[string]bool{before + epc + after: false, before + after: true} {
		snaps := snapshots(t, log)
		if len(snaps) != 1 {
			t.Fatal("no report")
		}
		for _, l := range snaps[0].Threads[0].Listed {
			if l.Searched != searched {
				t.Errorf("%s: searched %v, want %v", l.Symbol, l.Searched, searched)
			}
		}
	}
}

// TestLostBeginning: a chain without its header and without a PC is the rest of a chain; so is one for MIPS that does not
// begin at show_stack.
func TestLostBeginning(t *testing.T) {
	const before, header, entries = `
WARNING: CPU: 0 PID: 96 at toy.c:59 warn_c+0x4c/0x60 [toy]
CPU: 0 PID: 96 Comm: sh Not tainted 6.1.0-6-5kc-malta #1
`, "Call Trace:\n[<ffffffff8153c1b0>] show_stack+0x70/0x168\n", `[<ffffffffc000247c>] warn_a+0x2c/0x40 [toy]
[<ffffffff81ab9e54>] vfs_write+0x9c/0x3f0
[<ffffffff81aba054>] ksys_write+0x8c/0x140
[<ffffffff817ac474>] syscall_common+0x34/0x58
---[ end trace 0000000000000000 ]---`
	for log, want := range map[string]string{before + header + entries: "", before + entries: "warn_a", before + "Call Trace:\n" + entries: "warn_a"} {
		if got := gaps(t, log); got != want {
			t.Errorf("gaps before %q, want %q", got, want)
		}
	}
}

// TestBeginsWithin: a log may begin within a report of x86. Of a chain, the first frame may have called others, a stale
// entry among them; of registers, user space's lead nowhere, and those of the crash follow once more.
func TestBeginsWithin(t *testing.T) {
	const chain, header, registers, end, again = ` vfs_write+0xc7/0x3f0
 ? do_user_addr_fault+0x1b0/0x550
 ksys_write+0x6b/0xf0
 entry_SYSCALL_64_after_hwframe+0x6e/0xd8
RIP: 0033:0x47b7a0
`, "Call Trace:\n <TASK>\n ? stale+0x95/0xc0\n", `RSP: 002b:00007fff271507e8 EFLAGS: 00000202 ORIG_RAX: 0000000000000001
RAX: ffffffffffffffda RBX: 0000000000000001 RCX: 000000000047b7a0
RDX: 0000000000000005 RSI: 0000000035a4d950 RDI: 0000000000000001
`, "---[ end trace 0000000000000000 ]---\n", `RIP: 0010:leaf+0xc/0x20 [toy]
RSP: 0018:ffffcc80005cb930 EFLAGS: 00000202
RAX: 0000000000000010 RBX: 0000000000000006 RCX: 0000000000000000
RDX: 0000000000000002 RSI: ffffcc80005cb940 RDI: 0000000000000004
RBP: 0000000016e08950 R08: 0000000000000000 R09: ffffcc80005cb8b8
R10: 0000000000000003 R11: ffffffff996d46c8 R12: ffffcc80005cbb08
R13: 0000000016e08950 R14: ffff8ab4828ed000 R15: 0000000000000000
`
	const stack, rest = "stack|vfs_write ?do_user_addr_fault ksys_write entry_SYSCALL_64_after_hwframe.\n", "registers|leaf!\n"
	for _, c := range []struct{ what, log, want, gaps string }{
		{"a chain", chain + registers + end, stack, "vfs_write"},
		{"a chain, and the registers again", chain + registers + end + again, stack, "vfs_write"},
		{"a chain's header", header + chain + registers + end, "stack|?stale " + strings.TrimPrefix(stack, "stack|"), "stale vfs_write"},
		{"user space's registers", registers + end + again, rest, ""},
		{"the registers again", again, rest, ""},
		{"user space's registers alone", registers + end, "", ""},
		{"user space's PC and registers alone", "RIP: 0033:0x47b7a0\n" + registers + end, "", ""},
		{"a game's registers, on Windows", "Context:\nRDI:    0x0000000000000000  RSI: 0x0000000000000001  RAX:   0x0000000000000000\n" +
			"RIP:    0x00007ff9f4d221fd  RBP: 0x0000005ebed1d280  SegCs: 0x0000000000000033\nR8:     0x0000021e32d04790  R9:  0x00000000165b7e18\n", "", ""},
		{"a crash within another report's end", "Oops: 0000 [#1] SMP\nRIP: 0033:0x47b7a0\n" + registers + again, "oops|leaf!\n", "leaf"},
	} {
		if got := threadsOf(t, c.log); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", c.what, got, c.want)
		} else if c.want != "" && gaps(t, c.log) != c.gaps {
			t.Errorf("%s: gaps before %q, want %q", c.what, gaps(t, c.log), c.gaps)
		}
	}
}

// TestKernelNotFound: a log without a kernel's file says which file would help.
func TestKernelNotFound(t *testing.T) {
	for log, want := range map[string]string{
		oopses[0].log:               "the kernel 6.1.0-test was not found; name vmlinuz-6.1.0-test or vmlinux with --exe, or a directory that has one with --sysroot",
		"RIP: 0010:leaf+0xc/0x20\n": "the kernel was not found; name its vmlinuz or vmlinux with --exe, or a directory that has one with --sysroot",
	} {
		if got := issuesOf(t, log, target.IssueNotFound); len(got) != 1 || got[0] != want {
			t.Errorf("%q", got)
		}
	}
}
