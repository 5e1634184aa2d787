package kernellog

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/target"
)

// doubtsOf is chainOf with what is doubted: "~" before an entry that others may be missing in front of, "*" before
// one that was found by a search.
func doubtsOf(t *target.Thread) string {
	chain := strings.Fields(chainOf(t))
	for i, l := range t.Listed {
		if l.Gap {
			chain[i] = "~" + chain[i]
		}
		if l.Searched {
			chain[i] = "*" + chain[i]
		}
	}
	return strings.Join(chain, " ")
}

// TestStackMarks: before Linux 4.10 x86's first entry on another stack stands behind the mark of that stack. Where no
// registers are shown, what an interrupt or an exception had found running lacks the function that was interrupted.
func TestStackMarks(t *testing.T) {
	const log = `
[ 1.000001] ------------[ cut here ]------------
[ 1.000001] WARNING: at net/toy.c:226 toy_poll+0x27/0x40()
[ 1.000002] Pid: 7, comm: sh Not tainted 3.2.0-test #1
[ 1.000003] Call Trace:
[ 1.000004]  <NMI>  [<ffffffff8171ed09>] dump_stack+0x45/0x56
[ 1.000005]  [<ffffffff81067730>] warn_slowpath_null+0x1a/0x20
[ 1.000006]  [<ffffffff81700027>] toy_poll+0x27/0x40
[ 1.000007]  <<EOE>>  <IRQ>  [<ffffffff81700044>] ? toy_lock+0x4/0x9
[ 1.000008]  [<ffffffff81700140>] toy_irq+0x40/0x60
[ 1.000009]  [<ffffffff8172722d>] common_interrupt+0x6d/0x6d
[ 1.000010]  <EOI>  [<ffffffff815d1862>] ? toy_idle+0x52/0xc0
[ 1.000011]  [<ffffffff8101d1de>] toy_loop+0xe/0x30
[ 1.000012]  [<ffffffff8101d2de>] system_call_fastpath+0x16/0x1b
`
	snaps := snapshots(t, log)
	if len(snaps) != 1 || snaps[0].Arch.Name != "x86_64" || len(snaps[0].Threads) != 1 {
		t.Fatalf("%+v", snaps)
	}
	const want = "dump_stack warn_slowpath_null toy_poll ?toy_lock ~toy_irq common_interrupt ?toy_idle ~toy_loop system_call_fastpath."
	if got := doubtsOf(&snaps[0].Threads[0]); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestMarksTell: x86's marks of stacks and of doubt tell which processor a report without registers is of.
func TestMarksTell(t *testing.T) {
	for entries, arch := range map[string]string{
		" toy_a+0x1/0x20\nRIP: 0033:0x7f1a5d6215d7\n":                                    "x86_64",
		" toy_a+0x1/0x20\nEIP: 0xb7f1a5d6\n":                                             "i386",
		" <IRQ>\n toy_a+0x1/0x20\n </IRQ>\n toy_b+0x1/0x20\n":                            "x86_64",
		" [<ffffffff81700044>] ? toy_a+0x4/0x9\n [<ffffffff81700054>] toy_b+0x4/0x9\n":   "x86_64",
		" [<c1700044>] ? toy_a+0x4/0x9\n [<c1700054>] toy_b+0x4/0x9\n":                   "i386",
		" [<c1700044>] toy_a+0x4/0x9\n [<c1700054>] syscall_call+0x7/0xb\n":              "i386",
		" [<ffffffff81700044>] toy_a+0x4/0x9\n [<ffffffff8172c54>] child_rip+0xa/0x11\n": "x86_64",
		" [<ffffffff81700044>] toy_a+0x4/0x9\n [<ffffffff81700054>] toy_b+0x4/0x9\n":     "",
	} {
		got := ""
		if snaps := snapshots(t, "Call Trace:\n"+entries); len(snaps) > 0 {
			got = snaps[0].Arch.Name
		}
		if got != arch {
			t.Errorf("%q: %q, want %q", entries, got, arch)
		}
	}
	const bios = "CPU: 2 PID: 15 Comm: sh Not tainted 4.1.12+ #5\nHardware name: Toy X9/X9, BIOS 3.0b 03/01/2014\nCall Trace:\n"
	const mips = "Stack : ffffffff81a2a0ee 0000000000000000\nCall Trace:\n [<ffffffff81a2a0ee>] show_stack+0x4c/0x65\n"
	if snaps := snapshots(t, strings.Replace(bios, "Call Trace:\n", mips, 1)); len(snaps) != 1 || snaps[0].Arch.Name != "mips64" {
		t.Errorf("MIPS: %d snapshots", len(snaps))
	}
	for at, arch := range map[string]string{"ffffffff81a2a0ee": "x86_64", "c1a2a0ee": "i386", "9000000000a2a0ee": "unknown"} {
		got := ""
		if snaps := snapshots(t, bios+" [<"+at+">] toy_a+0x4c/0x65\n"); len(snaps) > 0 {
			got = snaps[0].Arch.Name
		}
		if got != arch {
			t.Errorf("%s: %q, want %q", at, got, arch)
		}
	}
}
