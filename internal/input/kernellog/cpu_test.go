package kernellog

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/target"
)

func archs() (set cpu.Set) {
	for _, list := range [][]*cpu.Arch{mips.Archs(), arm.Archs(), arm64.Archs(), riscv.Archs(), x86.Archs()} {
		set = append(set, list...)
	}
	return set
}

// snapshots are those of a log.
func snapshots(t testing.TB, log string) (snaps []*target.Snapshot) {
	t.Helper()
	env := &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{})}
	s, err := console.Format(Reader()).Open(context.Background(), input.NewCapture("log", []byte(log)), env)
	if err != nil {
		return nil
	}
	for {
		snap, err := s.Next(context.Background())
		if err == io.EOF {
			return snaps
		}
		if err != nil {
			t.Fatal(err)
		}
		snaps = append(snaps, snap)
	}
}

// chainOf writes a thread's chain: "pc! caller ?doubted root.", with ! behind where a frame
// stands itself, and a dot behind the outermost.
func chainOf(t *target.Thread) string {
	var out []string
	for _, l := range t.Listed {
		s := l.Symbol
		if l.Doubtful {
			s = "?" + s
		}
		if l.Exact {
			s += "!"
		}
		if l.Outermost {
			s += "."
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

// gapsOf is a thread's chain, with ! behind each entry of which it is not known whether others stand before.
func gapsOf(t *target.Thread) string {
	var out []string
	for _, l := range t.Listed {
		if l.Gap {
			l.Symbol += "!"
		}
		out = append(out, l.Symbol)
	}
	return strings.Join(out, " ")
}

// oopses are one report as each processor prints it.
var oopses = []struct {
	name, log                    string
	arch, title, regs, mem, want string
}{
	{name: "arm64", log: `
[    5.160643] Unable to handle kernel NULL pointer dereference at virtual address 0000000000000010
[    5.162053] Internal error: Oops: 0000000096000006 [#1] SMP
[    5.178671] CPU: 0 PID: 98 Comm: my sh Tainted: G        W  OE      6.1.0-test #1
[    5.178879] pstate: 00000005 (nzcv daif -PAN -UAO -TCO -DIT -SSBS BTYPE=--)
[    5.178977] pc : leaf+0x18/0x24 [toy]
[    5.179084] lr : mid+0x2c/0x3c [toy]
[    5.179157] sp : ffff80000825b860
[    5.179206] x29: ffff80000825b860 x28: ffff0703031ed140 x27: 0000000000000000
[    5.180207] x26: 0000000000000000 x25: 0000000000000000 x24: 0000000000000000
[    5.180208] x23: 0000000000000000 x22: 0000000000000000 x21: 0000000000000000
[    5.180209] x20: 0000000000000000 x19: 0000000000000000 x18: 0000000000000000
[    5.180210] x17: 0000000000000000 x16: 0000000000000000 x15: 0000000000000000
[    5.180211] x14: 0000000000000000 x13: 0000000000000000 x12: 0000000000000000
[    5.180212] x11: 0000000000000000 x10: 0000000000000000 x9 : 0000000000000000
[    5.180213] x8 : 0000000000000000 x7 : 0000000000000000 x6 : 0000000000000000
[    5.180214] x5 : 0000000000000000 x4 : 0000000000000000 x3 : 0000000000000000
[    5.180306] x2 : ffffa08ccc78b580 x1 : 0000000000000010 x0 : 0000000000000004
[    5.180314] Call trace:
[    5.180361]  leaf+0x18/0x24 [toy]
[    5.180442]  top+0x58/0x90 [toy]
[    5.181464]  el0t_64_sync+0x18c/0x190
[    5.181667] Code: d0000001 d503233f d50323bf f942c021 (b9400021)
[    5.181995] ---[ end trace 0000000000000000 ]---`,
		arch: "aarch64", title: "oops: CPU 0 PID 98 my sh", regs: "x29=ffff80000825b860 x0=4", want: "leaf! mid top el0t_64_sync."},
	{name: "ARM", log: `
Unhandled fault: page domain fault (0x01b) at 0x00000010
Internal error: : 1b [#1] SMP ARM
CPU: 0 PID: 95 Comm: sh Tainted: G        W  OE      6.1.0-test #1
PC is at leaf+0x14/0x20 [toy]
LR is at mid+0x24/0x2c [toy]
pc : [<bf000014>]    lr : [<bf000044>]    psr: 40000013
sp : ca911db0  ip : ca911e84  fp : 0069b1e0
r10: ca911f80  r9 : 00000006  r8 : 0069bab8
Register r2 information: 4-page vmalloc region starting at 0xbf000000 allocated at load_module+0xa90/0x21c8
Stack: (0xca911db0 to 0xca912000)
1da0:                                     00000002 bf00009c 000000e1 00010000
1dc0: 00000000 00000005
 leaf [toy] from mid+0x24/0x2c [toy]
 mid [toy] from __irq_svc+0x98/0xb0
Exception stack(0xca911e38 to 0xca911e80)
1e20:                                                       00000007 00000008
 __irq_svc from spin+0x4c/0x94
 spin from ret_fast_syscall+0x0/0x1c
Code: e28dd004 e30232c0 e34b3f00 e5933000 (e5933000)`,
		arch: "arm", title: "oops: CPU 0 PID 95 sh", regs: "pc=bf000014 sp=ca911db0 r8=69bab8",
		mem: "ca911db0=2 ca911db4=bf00009c ca911dc4=5 ca911e38=7 bf000014=e5933000", want: "leaf! mid __irq_svc spin! ret_fast_syscall!."},
	{name: "MIPS", log: `
CPU 0 Unable to handle kernel paging request at virtual address 00000010, epc == c00a5020, ra == c00a506c
Oops[#1]:
CPU: 0 PID: 95 Comm: sh Tainted: G        W  OE      6.1.0-test #1
$ 0   : 00000000 81d4b3b4 00000010 c00a0000
$28   : 817e6000 817e7cb8 005c7888 c00a506c
epc   : c00a5020 leaf+0x20/0x2c [toy]
ra    : c00a506c mid+0x40/0x54 [toy]
Status: 3400a403	KERNEL EXL IE
BadVA : 00000010
Stack : 00000000 82931454 000000f6 82940000 00000000 c00a50fc 82c86780 00000000
        00000001 81d4d530 lost0000 00010000 00000000 00000000 00000000 00000002
        ...
Call Trace:
[<c00a5020>] leaf+0x20/0x2c [toy]
[<81b740c4>] handle_int+0x144/0x150
[<82578310>] __udelay+0x50/0x60
[<81caad4c>] syscall_common+0x34/0x58

Code: 27bdfff8  3c02c00a  8c426864 <8c420000> 03e00008`,
		arch: "mips", title: "oops: CPU 0 PID 95 sh", regs: "pc=c00a5020 sp=817e7cb8 ra=c00a506c gp=817e6000",
		mem: "817e7ccc=c00a50fc 817e7ce4=10000 c00a5020=8c420000", want: "leaf! mid handle_int __udelay! syscall_common."},
	{name: "MIPS64", log: `
CPU 0 Unable to handle kernel paging request at virtual address 0000000000000010, epc == ffffffffc0002020, ra == ffffffffc0002068
Oops[#1]:
CPU: 0 PID: 95 Comm: sh Not tainted 6.1.0-test #1
$ 0   : 0000000000000000 ffffffff81d4b3b4 0000000000000010 0000000000000003
$28   : 90000000036a4000 90000000036a7b30 0000000000000000 ffffffffc0002068
epc   : ffffffffc0002020 leaf+0x20/0x2c [toy]
ra    : ffffffffc0002068 mid+0x40/0x54 [toy]
Stack : 0000000000000001 0000000000000002 0000000000000003 90000000036a7b38
Call Trace:
[<ffffffffc0002020>] leaf+0x20/0x2c [toy]
[<ffffffffc0002068>] mid+0x40/0x54 [toy]
[<ffffffff8134c474>] syscall_common+0x34/0x58`,
		arch: "mips64", title: "oops: CPU 0 PID 95 sh", regs: "pc=ffffffffc0002020 sp=90000000036a7b30",
		mem: "90000000036a7b40=3", want: "leaf! mid syscall_common."},
	{name: "x86-64", log: `
[   17.044938] BUG: kernel NULL pointer dereference, address: 0000000000000010
[   17.072386] Oops: 0000 [#1] PREEMPT SMP NOPTI
[   17.072681] CPU: 0 PID: 99 Comm: sh Tainted: G        W  OE      6.1.0-test #1
[   17.073479] RIP: 0010:leaf+0xc/0x20 [toy]
[   17.086540] Code: 75 0a 48 <0f> 0b 8d
[   17.086821] RSP: 0018:ffffcc80005cb930 EFLAGS: 00000202
[   17.086971] RAX: 0000000000000010 RBX: 0000000000000006 RCX: 0000000000000000
[   17.095112] Call Trace:
[   17.095288]  <IRQ>
[   17.095372]  mid+0x13/0x20 [toy]
[   17.096169]  ? stale+0x95/0xc0
[   17.096288]  </IRQ>
[   17.096288]  <TASK>
[   17.096429]  asm_sysvec_apic_timer_interrupt+0x16/0x20
[   17.096429] RIP: 0010:delay_tsc+0x31/0xa0
[   17.096429] RSP: 0018:ffffd263005cbd98 EFLAGS: 00000287
[   17.096429]  crashy_write+0x46d/0x4f1
[   17.126726]  entry_SYSCALL_64_after_hwframe+0x6e/0xd8
[   17.126881] RIP: 0033:0x47b7a0
[   17.127393] RSP: 002b:00007ffe8b8f7d88 EFLAGS: 00000202 ORIG_RAX: 0000000000000001
[   17.128441]  </TASK>
[   17.156009] ---[ end trace 0000000000000000 ]---
[   17.156257] RIP: 0010:leaf+0xc/0x20 [toy]
[   17.156648] RSP: 0018:ffffcc80005cb930 EFLAGS: 00000202`,
		arch: "x86_64", title: "oops: CPU 0 PID 99 sh", regs: "rsp=ffffcc80005cb930 rbx=6",
		want: "leaf! mid ?stale asm_sysvec_apic_timer_interrupt delay_tsc! crashy_write entry_SYSCALL_64_after_hwframe."},
	{name: "i386", log: `
BUG: kernel NULL pointer dereference, address: 00000010
Oops: 0000 [#1] SMP
CPU: 0 PID: 99 Comm: sh Not tainted 6.1.0-test #1
EIP: leaf+0xc/0x20 [toy]
EAX: 00000010 EBX: c1d0e280 ECX: 00000000 EDX: 00000002
ESI: c1d0e281 EDI: 00000004 EBP: c1d0fe40 ESP: c1d0fe30
Call Trace:
 mid+0x13/0x20 [toy]
 entry_INT80_32+0xf0/0xf0
EIP: 0xb7f0d549`,
		arch: "i386", title: "oops: CPU 0 PID 99 sh", regs: "esp=c1d0fe30 ebp=c1d0fe40", want: "leaf! mid entry_INT80_32."},
	{name: "RISC-V", log: `
Unable to handle kernel NULL pointer dereference at virtual address 0000000000000010
Oops [#1]
CPU: 1 PID: 99 Comm: sh Not tainted 6.1.0-test #1
epc : leaf+0xc/0x20 [toy]
 ra : mid+0x10/0x20 [toy]
epc : ffffffff0143600c ra : ffffffff01436030 sp : ff20000000303b50
 gp : ffffffff81a0f3c8 tp : ff600000025c8000 t0 : ff20000000303a00
 s2 : 0000000000000005 s3 : ff20000000303df8 s4 : 0000000000000005
status: 0000000200000120 badaddr: 0000000000000010 cause: 000000000000000d
[<ffffffff0143600c>] leaf+0xc/0x20 [toy]
[<ffffffff801d8bfe>] vfs_write+0x9e/0x350
[<ffffffff80003a52>] ret_from_syscall+0x0/0x2`,
		arch: "riscv64", title: "oops: CPU 1 PID 99 sh", regs: "pc=ffffffff0143600c sp=ff20000000303b50 s2=5", want: "leaf! mid vfs_write ret_from_syscall!."},
}

// TestEachProcessor: an oops as each processor prints it is one thread, with registers,
// memory and chain; the link register stands in where the kernel's chain left it out.
func TestEachProcessor(t *testing.T) {
	for _, c := range oopses {
		t.Run(c.name, func(t *testing.T) {
			snaps := snapshots(t, c.log)
			if len(snaps) != 1 || len(snaps[0].Threads) != 1 {
				t.Fatalf("%d snapshots", len(snaps))
			}
			s, th := snaps[0], &snaps[0].Threads[0]
			if s.Arch.Name != c.arch || th.Name != c.title || !th.Crashed {
				t.Errorf("%s %q crashed %v", s.Arch.Name, th.Name, th.Crashed)
			}
			if s.Fault == nil || s.Fault.Address != 0x10 {
				t.Errorf("fault %+v", s.Fault)
			}
			if got := chainOf(th); got != c.want {
				t.Errorf("chain %s\nwant  %s", got, c.want)
			}
			checkRegisters(t, s.Arch, th, c.regs)
			checkMemory(t, s.Arch, th, c.mem)
		})
	}
}

func checkRegisters(t *testing.T, arch *cpu.Arch, th *target.Thread, want string) {
	t.Helper()
	for _, w := range strings.Fields(want) {
		name, value, _ := strings.Cut(w, "=")
		r, _ := arch.RegByName(name)
		if v, ok := th.Regs.Lookup(r); !ok || fmt.Sprintf("%x", v) != value {
			t.Errorf("%s is %x (known: %v), want %s", name, v, ok, value)
		}
	}
}

func checkMemory(t *testing.T, arch *cpu.Arch, th *target.Thread, want string) {
	t.Helper()
	for _, w := range strings.Fields(want) {
		at, value, _ := strings.Cut(w, "=")
		addr, _ := phrases.Hex(at)
		v, ok := th.Memory.Uint(addr, min(arch.RegSize, 8))
		if !ok || fmt.Sprintf("%x", v) != value {
			t.Errorf("memory at %s is %x (known: %v), want %s", at, v, ok, value)
		}
	}
}
