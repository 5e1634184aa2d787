package kernellog

import (
	"fmt"
	"strings"
	"testing"
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

// TestLostMessages: where the console, the journal or syslog say that messages were lost, frames may
// be missing before the next entry of a chain.
func TestLostMessages(t *testing.T) {
	for _, loss := range []string{
		"** 12 printk messages dropped **",
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
	if said := snapshots(t, log)[0].Issues; len(said) != 0 {
		t.Error(said)
	}
	log = strings.Replace(log, "[    5.181995] ---[ end trace 0000000000000000 ]---", "", 1)
	if said := snapshots(t, log)[0].Issues; len(said) != 0 {
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

// TestLostLineOfARM: a line names its callee, which is the caller of the line before, or that line was lost.
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
	for log, want := range map[string]string{head + lost + rest: "", head + rest: "vfs_write "} {
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
$28   : 814d8000 814d9b60 814d9e00 81e6ebe8
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

// TestLostBeginning: a chain without its header and without a PC is the rest of a chain.
func TestLostBeginning(t *testing.T) {
	const before, header, entries = `
WARNING: CPU: 0 PID: 96 at toy.c:59 warn_c+0x4c/0x60 [toy]
CPU: 0 PID: 96 Comm: sh Not tainted 6.1.0-6-5kc-malta #1
`, "Call Trace:\n", `[<ffffffffc000247c>] warn_a+0x2c/0x40 [toy]
[<ffffffff81aba054>] ksys_write+0x8c/0x140
[<ffffffff817ac474>] syscall_common+0x34/0x58
---[ end trace 0000000000000000 ]---`
	for log, gap := range map[string]bool{before + header + entries: false, before + entries: true} {
		snaps := snapshots(t, log)
		if len(snaps) != 1 {
			t.Fatal("no report")
		}
		if l := snaps[0].Threads[0].Listed; len(l) != 3 || l[0].Gap != gap || l[1].Gap {
			t.Errorf("%+v, want a gap in front: %v", l, gap)
		}
	}
}
