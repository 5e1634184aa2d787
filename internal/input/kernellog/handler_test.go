package kernellog

import (
	"strings"
	"testing"
)

// TestHandlers: x86 searched the stack from its own report's functions on. What it doubts up to the PC of the fault
// ran after the fault; what it doubts further out, and what it doubts without such a PC, stays.
func TestHandlers(t *testing.T) {
	const head = `
BUG: kernel NULL pointer dereference, address: 0000000000000010
CPU: 0 PID: 86 Comm: sh Not tainted 5.10.0-test #1
RIP: 0010:leaf+0xc/0x20 [toy]
RSP: 0018:ffffba8800137e58 EFLAGS: 00000202
RAX: 0000000000000010 RBX: 0000000000000006 RCX: ffffffff83cb38c8
Call Trace:
 ? __die_body.cold+0x1a/0x1f
 ? asm_exc_page_fault+0x1e/0x30
`
	const rest = `
 middle+0x13/0x20 [toy]
 ? printk+0x58/0x73
 write+0x5f/0xe0
 entry_SYSCALL_64_after_hwframe+0x67/0xd1`
	for repeated, want := range map[string]string{
		" ? leaf+0xc/0x20 [toy]\n ? leaf+0xc/0x20 [toy]": "leaf! middle ?printk write entry_SYSCALL_64_after_hwframe.",
		" ? leaf+0x10/0x20 [toy]":                        "leaf! ?__die_body.cold ?asm_exc_page_fault ?leaf middle ?printk write entry_SYSCALL_64_after_hwframe.",
	} {
		snaps := snapshots(t, head+repeated+rest)
		if got := chainOf(&snaps[0].Threads[0]); got != want {
			t.Errorf("chain %q, want %q", got, want)
		}
	}
}

// TestRepeatedPC: of a report whose beginning is missing, as on a screen, x86 shows the PC again behind the chain.
func TestRepeatedPC(t *testing.T) {
	for _, c := range []struct{ chain, behind, arch, want string }{
		{" [<ffffffff8107b1c9>] toy_call+0x89/0x3f0\n [<ffffffff815ca995>] ret_from_fork+0x25/0x30", "RIP  [<ffffffff81014ec3>] toy_online+0x63/0x80\n RSP <ffffc90040cafdf8>", "x86_64",
			"toy_online! toy_call ret_from_fork."},
		{" toy_call+0x89/0x3f0\n ret_from_fork+0x25/0x30", "RIP: toy_online+0x63/0x80 RSP: ffff9c60bf703c90", "x86_64", "toy_online! toy_call ret_from_fork."},
		{" [<c107b1c9>] toy_call+0x89/0x3f0\n [<c15ca995>] ret_from_fork+0x25/0x30", "EIP: [<c1014ec3>] toy_online+0x63/0x80 SS:ESP 0068:d8d4dc3c", "i386", "toy_online! toy_call ret_from_fork."},
		{" [<ffffffff8107b1c9>] ? toy_call+0x89/0x3f0\n [<ffffffff815ca995>] ret_from_fork+0x25/0x30", "RIP: 0033:0x7f1a5d6215d7", "x86_64", "?toy_call ret_from_fork."},
	} {
		snaps := snapshots(t, "Call Trace:\n"+c.chain+"\nCode: b7 8e <45> 89\n"+c.behind+"\n---[ end trace 366b19d11bca2521 ]---\n")
		if len(snaps) != 1 || snaps[0].Arch.Name != c.arch || doubtsOf(&snaps[0].Threads[0]) != c.want && chainOf(&snaps[0].Threads[0]) != c.want {
			t.Errorf("%s: %+v", c.behind, snaps)
			continue
		}
		if th := &snaps[0].Threads[0]; th.Crashed != strings.Contains(c.want, "!") {
			t.Errorf("%s: crashed %v", c.behind, th.Crashed)
		}
	}
}

// TestCallerOfNowhere: a call through a bad pointer has pushed its return address last, which kernels before Linux 4.15 doubt.
func TestCallerOfNowhere(t *testing.T) {
	for word, want := range map[string]string{
		"ffffffff814e3e4a": "toy_call toy_rcv system_call.",
		"ffffffff814e3e4b": "?toy_call toy_rcv system_call.",
	} {
		snaps := snapshots(t, `
BUG: unable to handle kernel NULL pointer dereference at           (null)
IP: [<          (null)>]           (null)
CPU: 0 PID: 7 Comm: sh Not tainted 4.1.4-test #2
RIP: 0010:[<0000000000000000>]  [<          (null)>]           (null)
RSP: 0018:ffff88101df23768  EFLAGS: 00010246
RAX: 0000000000200000 RBX: ffffffff81f9aa20 RCX: 0000000000000012
RDX: ffffffff81f9aa20 RSI: 0000000000001000 RDI: ffffea007bf20000
RBP: ffff88101df237b8 R08: 0000000000000000 R09: 0000000000000200
R10: 0000000000000000 R11: 0000000000017960 R12: ffffea007bf20000
R13: 0000000000000001 R14: 020400000008407d R15: ffffea0040438000
Stack:
 `+word+` ffff88021fc03c98 0000000000000000 ffff8800bb0e1e00
Call Trace:
 [<ffffffff814e3e4a>] ? toy_call+0x7a/0x350
 [<ffffffff814e4788>] toy_rcv+0x298/0x3d0
 [<ffffffff8172d5dd>] system_call_fastpath+0x1a/0x1f
`)
		if got := strings.ReplaceAll(chainOf(&snaps[0].Threads[0]), "_fastpath", ""); got != want {
			t.Errorf("%s: %s, want %s", word, got, want)
		}
	}
}
