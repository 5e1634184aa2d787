package kernellog

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/target"
)

// wrapped are reports as mail programs wrap them: whole ones, that lack nothing.
var wrapped = map[string]string{
	`Kernel bug detected[#1]:
[   81.434469] CPU: 1 PID: 1288 Comm: ntpd Not tainted
4.3.0-rc4-test-20151004 #5
[   81.524637] $ 0   : 0000000000000000 ffffffff94001ce0 0000000000000001
ffffffffffff0003
[   81.621616] $ 4   : 0000000000000004 0000000000000005
0000000000000006 0000000000000007
[   81.718600] $ 8   : 0000000000000008 0000000000000009 000000000000000a 000000000000000b
[   81.815583] $12   : 000000000000000c 000000000000000d 000000000000000e 000000000000000f
[   81.912566] $16   : 0000000000000010 0000000000000011 0000000000000012 0000000000000013
[   82.009549] $20   : 0000000000000014 0000000000000015 0000000000000016 0000000000000017
[   82.106533] $24   : 0000000000000018 0000000000000019
[   82.203516] $28   : a8000000e7180000 a8000000e718ff40 0000000000000000
a80000000013a5f0
[   82.386628] epc   : a8000000001306c0 leaf+0x58/0x1b0
[   82.455944] ra    : a80000000013a5f0 mid+0x168/0x1d0
[   82.798615] Stack : 00000000e6b16b18 a8000000000a3c9c ffffffff94001ce1
0000000000000004
          0000000000000005 0000000000000006 0000000000000007 0000000000000008
          0000000000000009 000000000000000a 000000000000000b 000000000000000c
          000000000000000d 000000000000000e
000000000000000f 0000000000000010
          0000000000000011 0000000000000012 0000000000000013 0000000000000014
          0000000000000015 0000000000000016 0000000000000017 0000000000000018
[   83.587576] Call Trace:
[   83.617016] [<a8000000001306c0>] leaf+0x58/0x1b0
[   83.682062] [<a80000000013a5f0>] mid+0x168/0x1d0
[   83.747110] [<a800000000036754>] syscall_common+0x8/0x34`: "v1=ffffffffffff0003 a3=7 ra=a80000000013a5f0",
	`> Kernel BUG [#1]
> CPU: 3 PID: 51 Comm: kworker/3:1 Not tainted 6.5.0 #732
> epc : leaf+0x4e/0x23a
>  ra : mid+0x20/0x5c
> epc : ffffffff802db4d4 ra : ffffffff802db87c sp :
> ff20000000303c70
>  gp : ffffffff8106d950 tp : ff60000000302f80 t0 :
> ffffffff810836e8
>  a5 : 0000000000000000 a6 : 0000000000000102 a7 :
> 0000000000000006
>  a2 : 0000000000000005 a3 : 0000000000000000 a4 : 0000000000000009
>  s1 : ffffffff81018600 a0 : 0000000000000289 a1 : 0000000000000020
>  s2 : ffffffe3f00674c0 s3 : ffffffe00106e108 s4 :
> ffffffe00106e100
>  s5 : ffffffe00106e908 s6 : 0000000000000000 s7 : 6db6db6db6db6db7
>  s8 : 0000000000000001 s9 : ffffffe00021a4f8 s10:
> ffffffffffffffff
>  s11: ffffffe3f0066600 t3 : 000000000001a7a8 t4 : 000000000001a7a8
> [<ffffffff802db4d4>] leaf+0x4e/0x23a
> [<ffffffff802db87c>] mid+0x20/0x5c
> [<ffffffff02fbc038>] toy_long_name+0x11c/0x1f8
> [toy]
> [<ffffffff8090cc3e>] ret_from_syscall+0x0/0x2`: "sp=ff20000000303c70 t0=ffffffff810836e8 a7=6 s10=ffffffffffffffff",
}

// TestWrappedRegisters: what a line of registers lacks stands in the next.
func TestWrappedRegisters(t *testing.T) {
	for log, regs := range wrapped {
		snap := snapshots(t, log)[0]
		th := &snap.Threads[0]
		checkRegisters(t, snap.Arch, th, regs)
		if issues := issuesOf(t, log, target.IssueCapture); len(issues) != 0 || gaps(t, log) != "" {
			t.Errorf("issues %v, gaps before %q", issues, gaps(t, log))
		}
		for _, l := range th.Listed {
			if (l.Module == "toy") != (l.Symbol == "toy_long_name") {
				t.Errorf("%s in %q", l.Symbol, l.Module)
			}
		}
	}
}

// TestWrappedStack: words of a line that mail programs have cut are at their places; where other words follow a line
// that lacks some, it is not known where they belong.
func TestWrappedStack(t *testing.T) {
	for log := range wrapped {
		if !strings.Contains(log, "Stack") {
			continue
		}
		snap := snapshots(t, log)[0]
		checkMemory(t, snap.Arch, &snap.Threads[0], "a8000000e718ff58=4 a8000000e718ff60=5 a8000000e718ffb8=10 a8000000e718fff8=18")
		lost := strings.Replace(log, "\n0000000000000004\n", "\n", 1)
		if _, ok := snapshots(t, lost)[0].Threads[0].Memory.Uint(0xa8000000e718ff58, 8); ok {
			t.Error("words behind a lost one have places")
		}
	}
}

// TestWrappedWarning: the place of a warning behind its beginning is no entry of a chain.
func TestWrappedWarning(t *testing.T) {
	const rest = "CPU: 1 UID: 0 PID: 35 Comm: sh Not tainted 6.14.0 #1\nepc : leaf+0x48/0x66\n[<ffffffff805fc72c>] leaf+0x48/0x66\n[<ffffffff80603a14>] mid+0x74a/0xde2\n"
	for _, head := range []string{"WARNING: CPU: 1 PID: 35 at drivers/toy.c:349 \nleaf+0x48/0x66\n", "WARNING: ./include/toy.h:239 at \nleaf+0x48/0x66, CPU#1: sh/35\n"} {
		if got, want := threadsOf(t, head+rest), "warning: CPU 1 PID 35 sh|leaf! mid\n"; got != want {
			t.Errorf("got %swant %s", got, want)
		}
	}
}

// TestWrappedLock: the place where a lock was taken, in the next line, is no entry of a chain.
func TestWrappedLock(t *testing.T) {
	const log = `WARNING: possible circular locking dependency detected
sh/159 is trying to acquire lock:
ffffffff81822520 (toy_a){-.-.}-{0:0}, at:
toy_lock+0x3a/0x60
-> #1 (toy_b){-.-.}-{2:2}:
        toy_b_lock+0xa2/0x1d4
CPU: 1 UID: 0 PID: 159 Comm: sh Not tainted 6.12.0 #1
Call Trace:
[<ffffffff80006a02>] dump_backtrace+0x1c/0x24
`
	if got, want := threadsOf(t, log), "warning: CPU 1 PID 159 sh|dump_backtrace\nlock|toy_b_lock\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
