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
