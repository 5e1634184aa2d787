package kernellog

import "testing"

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
