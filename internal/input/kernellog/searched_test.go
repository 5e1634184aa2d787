package kernellog

import (
	"testing"

	"github.com/backsight/backsight/target"
)

// TestUnmarkedKernels: kernels before Linux 2.6.25 list each word of the stack that points to code, without a mark of
// doubt, and say behind the flags which they are. A module's name stands in front of the symbol.
func TestUnmarkedKernels(t *testing.T) {
	for _, c := range []struct{ log, want string }{
		{`Unable to handle kernel NULL pointer dereference at 0000000000000010 RIP:
 [<ffffffff8813b1cf>] :toy:toy_poll+0x43/0x57
Oops: 0000 [1] SMP
Pid: 7, comm: sh Tainted: P      2.6.18-194.el5 #1
RIP: 0010:[<ffffffff8813b1cf>]  [<ffffffff8813b1cf>] :toy:toy_poll+0x43/0x57
RSP: 0018:ffff81003fbc3f00  EFLAGS: 00010202
RAX: 0000000000200000 RBX: ffffffff81f9aa20 RCX: 0000000000000012
RDX: ffffffff81f9aa20 RSI: 0000000000001000 RDI: ffffea007bf20000
RBP: ffff88101df237b8 R08: 0000000000000000 R09: 0000000000000200
R10: 0000000000000000 R11: 0000000000017960 R12: ffffea007bf20000
R13: 0000000000000001 R14: 020400000008407d R15: ffffea0040438000
Process sh (pid: 7, threadinfo ffff81003fbc2000, task ffff81003f8d2080)
Call Trace:
 [<ffffffff8040c25a>] net_rx+0xba/0x1f0
 [<ffffffff80232e40>] tracesys+0x70/0xf0
`, "oops: PID 7 sh|toy_poll! *net_rx *tracesys."},
		{`BUG: unable to handle kernel NULL pointer dereference at virtual address 00000010
Oops: 0000 [#1]
EIP:    0060:[<c0123456>]    Not tainted VLI
EFLAGS: 00010246   (2.6.11 #1)
EIP is at toy_read+0x24/0x50
eax: 00000000   ebx: 00000000   ecx: ffffffff   edx: ffffffff
Process my toy (pid: 95, threadinfo=ec476000 task=f739ead0)
Call Trace:
 [<c015e1e7>] vfs_read+0xc7/0x160
 [<c0103105>] syscall_call+0x7/0xb
`, "oops: PID 95 my toy|toy_read! *vfs_read *syscall_call."},
		{`Nov  2 01:15:17 host kernel: Unable to handle kernel paging request at 00000000000015f0 RIP: 
Nov  2 01:15:17 host kernel: <ffffffff80120ae5>{toy_map+197}
Nov  2 01:15:17 host kernel: Oops: 0000 [1] SMP
Nov  2 01:15:17 host kernel: Pid: 7, comm: sh Not tainted 2.6.9-5.EL
Nov  2 01:15:17 host kernel: RIP: 0010:[<ffffffff80120ae5>] <ffffffff80120ae5>{toy_map+197}
Nov  2 01:15:17 host kernel: RSP: 0000:000001003f0fbdf8  EFLAGS: 00010213
Nov  2 01:15:17 host kernel: RAX: 00000100ff3fd000 RBX: 00000000ff3fd000 RCX: 0000000000000019
Nov  2 01:15:17 host kernel: RDX: ffffffff7fffffff RSI: 0000010140000000 RDI: 0000000000000000
Nov  2 01:15:17 host kernel: RBP: 0000000000001000 R08: 00000000ff3fe000 R09: 0000000000000000
Nov  2 01:15:17 host kernel: R10: 0000000000000000 R11: 000000000000007d R12: ffffff00003c6000
Nov  2 01:15:17 host kernel: R13: 00000000ff3fd000 R14: 0000000000000000 R15: 0000000000000000
Nov  2 01:15:17 host kernel: Call Trace:<ffffffffa0051a33>{:toy:toy_probe+419} <ffffffff80214c5b>{bus_probe+107}
Nov  2 01:15:17 host kernel:        <ffffffff8026a5c4>{driver_probe+68} <ffffffff8010e4b6>{system_call+126}
`, "oops: PID 7 sh|toy_map! *toy_probe *bus_probe *driver_probe *system_call."},
		{`Oops: 0000 [#1]
CPU:    0
EIP:    0060:[<c021570d>]    Not tainted VLI
EFLAGS: 00010202   (2.6.16-1 #3)
EIP is at toy_path+0x2d/0xe0
eax: 00000000   ebx: 00000001   ecx: ffffffff   edx: 00000000
Process umount (pid: 95, threadinfo=dcea0000 task=dd334a30)
Call Trace:
 <c0103fea> show_stack+0x7a/0x90   <c01043a0> die+0x100/0x190
 <c0103c77> error_code+0x2b/0x30   <c020bb5d> toy_event+0x10d/0x210
 <c017fecb> sys_umount+0x4b/0x280   <c010306f>
sysenter_past_esp+0x54/0x75
`, "oops: PID 95 umount|toy_path! *toy_event *sys_umount *sysenter_past_esp."},
		{`Pid: 7, comm: sh Not tainted 2.6.32-71.el6.x86_64 #1
Call Trace:
 [<ffffffff8040c25a>] net_rx+0xba/0x1f0
 [<ffffffff80232e40>] system_call_fastpath+0x16/0x1b
`, "stack: PID 7 sh|net_rx system_call_fastpath."},
	} {
		snaps := snapshots(t, c.log)
		if len(snaps) != 1 || len(snaps[0].Threads) != 1 {
			t.Errorf("%q: %d snapshots", c.log, len(snaps))
			continue
		}
		th := &snaps[0].Threads[0]
		if got := th.Name + "|" + doubtsOf(th); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestFaultOfOldKernels: the fault's address is told by the first message, which a line with the PC may follow.
func TestFaultOfOldKernels(t *testing.T) {
	for says, want := range map[string]target.Fault{
		"BUG: unable to handle kernel NULL pointer dereference at 0000000000000018":  {Name: "BUG: unable to handle kernel NULL pointer dereference", Address: 0x18, HasAddress: true},
		"BUG: unable to handle kernel NULL pointer dereference at           (null)":  {Name: "BUG: unable to handle kernel NULL pointer dereference", HasAddress: true},
		"Unable to handle kernel paging request at 00000000000015f0 RIP: ":           {Name: "Unable to handle kernel paging request", Address: 0x15f0, HasAddress: true},
		"BUG: unable to handle kernel NULL pointer dereference\nat 0000000000000018": {Name: "BUG: unable to handle kernel NULL pointer dereference", Address: 0x18, HasAddress: true},
	} {
		snaps := snapshots(t, says+`
IP: [<ffffffff81083b70>] toy_read+0x20/0x70
Oops: 0000 [#1] SMP
CPU: 0 PID: 7 Comm: sh Kdump: loaded Not tainted 3.10.0-1.el7.x86_64 #1
RIP: 0010:[<ffffffff81083b70>]  [<ffffffff81083b70>] toy_read+0x20/0x70
`)
		if len(snaps) != 1 || snaps[0].Fault == nil || *snaps[0].Fault != want || snaps[0].Threads[0].Name != "oops: CPU 0 PID 7 sh" {
			t.Errorf("%q: %+v", says, snaps)
		}
	}
}
