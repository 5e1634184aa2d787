package kernellog

import (
	"fmt"
	"strings"
	"testing"
)

// TestFirstCaller: i386's list lacks the caller of a function that had not made its frame, which it doubts. The
// entry counts where the printed code sets no frame pointer in front of the PC, or no code is printed, and the
// PC is near the beginning; user space's code says nothing.
func TestFirstCaller(t *testing.T) {
	for _, c := range []struct{ what, offset, code, want string }{
		{"no code is printed", "d", "Unable to access opcode bytes at 0xcc7f1fe3.", "caller"},
		{"no frame yet", "8", "90 3e 8d 74 26 00 89 c2 55 <8b> 00 89 e5 5d c3", "caller"},
		{"a frame is made", "8", "90 3e 8d 74 26 00 55 89 e5 <8b> 00 5d c3", "?caller"},
		{"far from the beginning", "40", "Unable to access opcode bytes at 0xcc7f1fe3.", "?caller"},
	} {
		snaps := snapshots(t, fmt.Sprintf(`
CPU: 0 PID: 98 Comm: sh Not tainted 6.1.0-686-pae #1
EIP: leaf+0x%s/0x60 [toy]
Code: %s
EAX: 00000010 EBX: c20adc6c ECX: 00000000 EDX: 00000004
ESI: 0987bb50 EDI: c20add34 EBP: c20adc64 ESP: c20adc5c
Call Trace:
 ? ftrace_graph_caller+0x1c/0x1c
 ? caller+0x15/0x20 [toy]
 middle+0x41/0x70 [toy]
 ? printk+0x14/0x16
 do_SYSENTER_32+0x15/0x20
 entry_SYSENTER_32+0x98/0xfb
EIP: 0xb7fe1559
Code: 03 74 55 89 e5 0f 34 cd 80 <5d> 5a 59 c3
EAX: ffffffda EBX: 00000001 ECX: 0987bb50 EDX: 00000006`, c.offset, c.code))
		want := "leaf! ?ftrace_graph_caller " + c.want + " middle ?printk do_SYSENTER_32 entry_SYSENTER_32."
		if got := chainOf(&snaps[0].Threads[0]); got != want {
			t.Errorf("%s: chain %q, want %q", c.what, got, want)
		}
	}
}

// TestCallerOfNoFunction: of a call that led to no function, to data among others, i386's kernels list the caller as
// a word of the stack; of one to address 0 they know it.
func TestCallerOfNoFunction(t *testing.T) {
	for eip, want := range map[string]string{"0x12345678": "caller", "0xc11e78c0": "caller", "0x0": "?caller"} {
		snaps := snapshots(t, fmt.Sprintf(`
CPU: 0 PID: 98 Comm: sh Not tainted 6.1.0-686-pae #1
EIP: %s
Code: Unable to access opcode bytes at 0x1234564e.
EAX: 00000010 EBX: c20adc6c ECX: 00000000 EDX: 00000004
ESI: 0987bb50 EDI: c20add34 EBP: c20adc64 ESP: c20adc5c
Call Trace:
 ? caller+0x15/0x20 [toy]
 middle+0x41/0x70 [toy]
 do_SYSENTER_32+0x15/0x20
 entry_SYSENTER_32+0x98/0xfb`, eip))
		got := chainOf(&snaps[0].Threads[0])
		if !strings.HasSuffix(" "+got, " "+want+" middle do_SYSENTER_32 entry_SYSENTER_32.") {
			t.Errorf("from %s: chain %q", eip, got)
		}
	}
}

// TestSegmentOfUserSpace: where i386 shows user space's registers within a chain, whose stack segment says so, the entry
// in front is the outermost; behind the kernel's own, the chain goes on.
func TestSegmentOfUserSpace(t *testing.T) {
	for ss, want := range map[string]string{"007b": "get_signal exc_page_fault handle_exception.", "0068": "get_signal exc_page_fault handle_exception"} {
		snaps := snapshots(t, fmt.Sprintf(`
BUG: scheduling while atomic: busybox/118/0x00000000
CPU: 1 PID: 118 Comm: busybox Not tainted 6.1.0-686-pae #1
Call Trace:
 get_signal+0x8e8/0x920
 exc_page_fault+0x5b/0x160
 ? paravirt_BUG+0x10/0x10
 handle_exception+0x133/0x133
EIP: 0x80c1200
Code: Unable to access opcode bytes at 0x80c11d6.
EAX: 00000003 EBX: 0823df28 ECX: 00000001 EDX: 09d91e10
ESI: 09d91e10 EDI: 00000002 EBP: bf812bf0 ESP: bf81271c
DS: 007b ES: 007b FS: 0000 GS: 0000 SS: %s EFLAGS: 00000202
 ? paravirt_BUG+0x10/0x10`, ss))
		got := strings.ReplaceAll(chainOf(&snaps[0].Threads[0]), " ?paravirt_BUG", "")
		if got != want {
			t.Errorf("SS %s: chain %q, want %q", ss, got, want)
		}
	}
}
