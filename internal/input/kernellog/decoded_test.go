package kernellog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/target"
)

// sourcesOf are the entries of a chain with their places in the source, and what was inlined there.
func sourcesOf(t *target.Thread) string {
	var out []string
	for _, l := range t.Listed {
		for _, in := range l.Inlined {
			out = append(out, fmt.Sprintf("(%s %s:%d)", in.Function, in.File, in.Line))
		}
		out = append(out, fmt.Sprintf("%s+%d[%s] %s:%d", l.Symbol, l.Offset, l.Module, l.File, l.Line))
	}
	return strings.Join(out, "\n")
}

// TestDecoded: scripts put places in the source into a report, instead of offsets or with them.
func TestDecoded(t *testing.T) {
	for name, c := range map[string]struct{ chain, want string }{
		"syzkaller": {` __dump_stack lib/dump_stack.c:79 [inline]
 dump_stack+0x10/0x20 lib/dump_stack.c:120
 toy_get include/linux/toy.h:7 [inline]
 toy_put include/linux/toy.h:8 [inline]
 toy_read+0x11/0x22 [toy] fs/toy.c:12
 do_syscall_64+0x58/0x100 arch/x86/entry/common.c:83
`, `(__dump_stack lib/dump_stack.c:79)
dump_stack+16[] lib/dump_stack.c:120
(toy_get include/linux/toy.h:7)
(toy_put include/linux/toy.h:8)
toy_read+17[toy] fs/toy.c:12
do_syscall_64+88[] arch/x86/entry/common.c:83`},
		"decode_stacktrace.sh": {` dump_stack (lib/dump_stack.c:107)
 ? toy_write (fs/toy.c:31)
 toy_read (include/linux/toy.h:7 (discriminator 3) fs/toy.c:12 (discriminator 1)) toy
 toy_open (fs/toy.c:9) [toy]
 do_syscall_64+0x58/0x100 (arch/x86/entry/common.c:83)
`, `dump_stack+0[] lib/dump_stack.c:107
toy_write+0[] fs/toy.c:31
toy_read+0[toy] fs/toy.c:12
toy_open+0[toy] fs/toy.c:9
do_syscall_64+88[] arch/x86/entry/common.c:83`},
	} {
		snaps := snapshots(t, "CPU: 1 PID: 7 Comm: sh Not tainted 6.5.0-test #1\nCall Trace:\n <TASK>\n"+c.chain)
		if len(snaps) != 1 || len(snaps[0].Threads) != 1 {
			t.Fatalf("%s: %+v", name, snaps)
		}
		if got := sourcesOf(&snaps[0].Threads[0]); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestDecodedPC: the PC and the place of a warning are read without an offset, too.
func TestDecodedPC(t *testing.T) {
	const want = "warning: CPU 0 PID 7 sh|toy_put! toy_read\n"
	if got := threadsOf(t, `
WARNING: CPU: 0 PID: 7 at fs/toy.c:31 toy_put (fs/toy.c:31 (discriminator 1))
CPU: 0 PID: 7 Comm: sh Not tainted 6.5.0-test #1
RIP: 0010:toy_put (fs/toy.c:31 (discriminator 1))
Code: 0f 1f 44 00 00 <0f> 0b c3
RSP: 0018:ffff88101df23768  EFLAGS: 00010246
RAX: 0000000000200000 RBX: ffffffff81f9aa20 RCX: 0000000000000012
RDX: ffffffff81f9aa20 RSI: 0000000000001000 RDI: ffffea007bf20000
RBP: ffff88101df237b8 R08: 0000000000000000 R09: 0000000000000200
R10: 0000000000000000 R11: 0000000000017960 R12: ffffea007bf20000
R13: 0000000000000001 R14: 020400000008407d R15: ffffea0040438000
Call Trace:
 <TASK>
 toy_read (fs/toy.c:12)
`); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestRaisedAt: how kernels say where a warning was raised.
func TestRaisedAt(t *testing.T) {
	for _, says := range []string{
		"WARNING: CPU: 0 PID: 7 at kernel/toy.c:59 toy_warn+0x24/0x50 [toy]",
		"WARNING: CPU: 0 PID: 7 at toy_warn+0x24/0x50 [toy]",
		"WARNING: at kernel/toy.c:59 toy_warn+0x24/0x50 [toy]()",
		"WARNING: at kernel/toy.c:59 toy_warn+0x24/0x50 [toy]() (Not tainted)",
		"WARNING: kernel/toy.c:59 at toy_warn+0x24/0x50 [toy], CPU#0: sh/7",
	} {
		h, _, ok := heads(says)
		if !ok || h.what != "warning" || h.at.symbol != "toy_warn" || h.at.offset != 0x24 || h.at.module != "toy" {
			t.Errorf("%q: %+v", says, h)
		}
	}
}

// TestNotDecoded: text within a chain that has parentheses or brackets is no entry.
func TestNotDecoded(t *testing.T) {
	for _, text := range []string{"toy (failed)", "toy (at 12:30)", "toy_read (fs/toy.c:12", "toy [inline]", "toy fs/toy.c [inline]", "eth0 (r8169): transmit timed out", "toy fs/toy.c:12"} {
		tr := trace{open: true}
		if tr.take(text) || len(tr.inlined) > 0 {
			t.Errorf("%q: %+v", text, tr.listed)
		}
	}
}
