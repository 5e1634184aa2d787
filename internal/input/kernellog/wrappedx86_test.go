package kernellog

import (
	"reflect"
	"strings"
	"testing"
)

// TestBrokenLines: a report whose lines mail broke is read as if none had been.
func TestBrokenLines(t *testing.T) {
	const log = `
[ 7.000001] BUG: unable to handle kernel NULL pointer dereference
at 0000000000000008
[ 7.000002] IP: [<ffffffff8118d0fa>] toy_copy+0x8a/0x2a0
[ 7.000003] CPU: 16 PID: 2869 Comm: toyd Not tainted
3.11.0-15-toy #25~precise1
[ 7.000004] RIP: 0010:[<ffffffff8118d0fa>]  [<ffffffff8118d0fa>]
toy_copy+0x8a/0x2a0
[ 7.000005] RSP: 0018:ffff88101df23768  EFLAGS: 00010246
[ 7.000006] RAX: 0000000000200000 RBX: ffffffff81f9aa20 RCX:
0000000000000012
[ 7.000007] RDX: ffffffff81f9aa20 RSI: 0000000000001000 RDI: ffffea007bf20000
[ 7.000008] RBP: ffff88101df237b8 R08: 0000000000000000 R09: 0000000000000200
[ 7.000009] R10: 0000000000000000 R11: 0000000000017960 R12: ffffea007bf20000
[ 7.000010] R13: 0000000000000001 R14: 020400000008407d R15: ffffea0040438000
[ 7.000011] Stack:
[ 7.000012]  ffff88101df23788 ffffffff81156460 ffff88207fff8000
ffffea007bf20000
[ 7.000013]  ffff88101df23798 ffffea0040438000 ffffea007bf20000
0000000000000001
[ 7.000014] Call Trace:
[ 7.000015]  [<ffffffff81156460>] ?
toy_pages+0x140/0x760
[ 7.000016]  [<ffffffff81190d0e>]
toy_misplaced_page+0x2ae/0x3d0
[ 7.000017]  [<ffffffffa03bb5a3>] toy_run+0x183/0x4d0
[toy]
[ 7.000018]  [<ffffffff8172d5dd>] system_call_fastpath+0x1a/0x1f
`
	whole := strings.NewReplacer("\nat 00", " at 00", "\n3.11", " 3.11", "\ntoy_", " toy_", "\n00000000000000", " 00000000000000", "\nffff", " ffff", "\n[toy]", " [toy]").Replace(log)
	want := snapshots(t, whole)
	for name, text := range map[string]string{"broken": log, "quoted": "> " + strings.ReplaceAll(log, "\n", "\n> ")} {
		got := snapshots(t, text)
		if len(got) != 1 || len(got[0].Threads) != 1 || len(got[0].Issues) != 1 {
			t.Fatalf("%s: %+v", name, got[0].Issues)
		}
		g, w := &got[0].Threads[0], &want[0].Threads[0]
		if doubtsOf(g) != "toy_copy! ?toy_pages toy_misplaced_page toy_run system_call_fastpath." || doubtsOf(g) != doubtsOf(w) || g.Listed[3].Module != "toy" {
			t.Errorf("%s: %s\nwant %s, %q", name, doubtsOf(g), doubtsOf(w), g.Listed[3].Module)
		}
		if g.Name != w.Name || g.Regs != w.Regs || !reflect.DeepEqual(g.Memory, w.Memory) || *got[0].Fault != *want[0].Fault {
			t.Errorf("%s: %s %+v\nwant %s %+v", name, g.Name, g.Regs, w.Name, w.Regs)
		}
	}
}

// TestBrokenAnywhere: where the messages of a log have prefixes, what has none goes on with a line that is as long as
// those of mail, unless that was an entry of a chain, or it says something by itself.
func TestBrokenAnywhere(t *testing.T) {
	const log = `
Sep 24 10:57:30 10.88.89.252 kernel: [ 3139.462323] watchdog: BUG: soft
lockup - CPU#3 stuck for 27s! [sh:7]
Sep 24 10:57:30 10.88.89.252 kernel: [ 3139.462324] CPU: 3 PID: 7 Comm: my
toy Not tainted 6.5.11-8-pve #1
Sep 24 10:57:30 10.88.89.252 toyd[812]: time="2026-09-24T10:57:30Z" level=info
Sep 24 10:57:30 10.88.89.252 kernel: [ 3139.562000] Call Trace:
Sep 24 10:57:30 10.88.89.252 kernel: [ 3139.564000]
toy_first_of_a_long_name+0x6d/0x80
Sep 24 10:57:30 10.88.89.252 kernel: [ 3139.564000]  toy_second_of+0x6d/0x80
Does anybody know what that is?
Sep 24 10:57:30 10.88.89.252 kernel: [ 3139.564000]  ret_from_fork+0x44/0x70
`
	const want = "soft lockup: CPU 3 PID 7 my toy|toy_first_of_a_long_name toy_second_of ret_from_fork.\n"
	if got := threadsOf(t, log); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	const panic = "Sep 24 10:57:30 10.88.89.252 kernel: [ 3139.46] Kernel panic - not syncing: Fatal exception\nSep 24 10:57:30 10.88.89.252 toyd[812]: x\n"
	if s := snapshots(t, panic+"Sep 24 10:57:30 10.88.89.252 kernel: Call Trace:\nSep 24 10:57:30 10.88.89.252 kernel:  system_call_fastpath+0x1/0x2"); s[0].Fault.Name != "Kernel panic - not syncing: Fatal exception" {
		t.Errorf("%+v", s[0].Fault)
	}
}

// TestIsRest: what a line may go on with, and what begins one.
func TestIsRest(t *testing.T) {
	for _, c := range []struct {
		before, text string
		rest         bool
	}{
		{"WARNING: CPU: 0 PID: 7 at net/toy.c:59", "toy_poll+0x27/0x40()", true},
		{"WARNING: CPU: 0 PID: 7 at", "net/toy.c:59 toy_poll+0x27/0x40()", false},
		{"BUG: soft lockup - CPU#0 stuck for 22s!", "[toy:7]", true},
		{"CPU: 1 PID: 7 Comm: sh", "Tainted: G W 3.11.0 #1", true},
		{"[<ffffffff81190d0e>] toy_a+0x1/0x2", "[<ffffffff81190d2e>] toy_b+0x1/0x2", false},
		{"[<ffffffff81190d0e>] toy_a+0x1/0x2", "toy_b+0x1/0x2", false},
		{"Modules linked in: toy", "toy_b+0x1/0x2", false},
		{"Call Trace:", "toy_b+0x1/0x2", false},
		{"RIP:", "0010:toy_b+0x1/0x2", false},
		{"CPU: 1 PID: 7 Comm: sh Not tainted 3.11.0 #1", "Hardware name: toy #1", false},
		{"toy: device at", "00000010", false},
	} {
		if got := fitsBehind(c.before)(c.text); got != c.rest {
			t.Errorf("%q, %q: %v", c.before, c.text, got)
		}
	}
}
