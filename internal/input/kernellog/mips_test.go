package kernellog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/target"
)

// mips24 is a report of Linux 2.4: eight registers a line, the chain as addresses of all words of the stack that may
// be in code.
const mips24 = `Reserved instruction in kernel code in traps.c::do_ri, line 652:
$0 : 00000000 8027b000 8000c240 80210974 8027a000 00000005 00000006 00000007
$8 : 00000008 00000009 0000000a 0000000b 0000000c 0000000d 0000000e 0000000f
$16: 00000010 00000011 00000012 00000013 00000014 00000015 00000016 00000017
$24: 00000018 00000019                   80268000 80269eb8 0000001e 80026030
Hi : fffff892
Lo : 0000027a
epc  : 8000c244    Not tainted
Status: 1000fc03
Cause : 00000028
Process swapper (pid: 1, stackpage=80268000)
Stack:    8000178c 8002ef3c 00000000 fffffff4 c000c000 802012b0 8000178c
 00000000 8002f1ec 80041700 00000020 00000010 00000010 00000010 c0000000
 80205c00 c000c000 fffffff4 003fffff 8002f9c8 c0000000 8001294c 80235200
 802012b0 8000178c 43464531 00000020 00000010 00000010 00000010 00000000
 800642bc 00000020 000001f2 000007df 00000010 000007df 801f6198 802011e8
 801f6914 ...
Call Trace:   [<8000178c>] [<8002ef3c>] [<8000178c>] [<8002f1ec>]
 [<8002f9c8>] [<8001294c>] ...

Code: 00000000  00000000  24811000 <bc8d0000> ac800000
Kernel panic: Attempted to kill init!
`

// TestMIPS24: a report of Linux 2.4 is read whole. Its chain is none, but what may be one.
func TestMIPS24(t *testing.T) {
	snap := snapshots(t, mips24)[0]
	th := &snap.Threads[0]
	if th.Name != "oops: PID 1 swapper" || snap.Fault == nil || snap.Fault.Name != "Reserved instruction in kernel code" || len(snap.Threads) != 1 {
		t.Errorf("%d threads, the first %q, fault %+v", len(snap.Threads), th.Name, snap.Fault)
	}
	checkRegisters(t, snap.Arch, th, "pc=8000c244 v0=8000c240 a3=7 t0=8 t9=19 gp=80268000 sp=80269eb8 ra=80026030")
	checkMemory(t, snap.Arch, th, "80269eb8=8000178c 80269ed4=0 80269f54=801f6914 8000c244=bc8d0000")
	var got []string
	for _, l := range th.Listed[1:] {
		if !l.Doubtful {
			t.Errorf("%x is no word that was searched for", l.PC)
		}
		got = append(got, hexOf(l.PC))
	}
	if s := strings.Join(got, " "); s != "8000178c 8002ef3c 8000178c 8002f1ec 8002f9c8 8001294c" {
		t.Errorf("listed %s", s)
	}
	if issues := issuesOf(t, mips24, target.IssueCapture); len(issues) != 0 {
		t.Errorf("issues %v", issues)
	}
}

// TestBeginningsOnMIPS: what the messages of exceptions are called, and which task ran, as the line behind the
// registers alone says before Linux 3.10.
func TestBeginningsOnMIPS(t *testing.T) {
	const rest = `Cpu 1
$ 0   : 00000000 10003c00 00000000 803a4468
epc   : 803a4488 toy_transfer+0x20/0x104     Not tainted
BadVA : 00000000
Process modprobe (pid: 2757, threadinfo=8f066000, task=8fade098, tls=2aad6470)
Call Trace:
[<803a4488>] toy_transfer+0x20/0x104
`
	for head, want := range map[string]string{
		"Data bus error, epc == 803a4488, ra == 803a4468\nOops[#1]:":                                                "Data bus error",
		"Instruction bus error, epc == 803a4488, ra == 803a4468\nOops in traps.c::do_be, line 491:":                 "Instruction bus error",
		"Break instruction in kernel code[#1]:":                                                                     "Break instruction in kernel code",
		"Break instruction in kernel code in traps.c::do_bp, line 620:":                                             "Break instruction in kernel code",
		"CPU 1 Unable to handle kernel paging request at virtual address 00000000, epc == 803a4488, ra == 803a4468": "Unable to handle kernel paging request",
	} {
		snap := snapshots(t, head+"\n"+rest)[0]
		if name := snap.Threads[0].Name; name != "oops: CPU 1 PID 2757 modprobe" || snap.Fault == nil || snap.Fault.Name != want {
			t.Errorf("%q, fault %+v, want %q", name, snap.Fault, want)
		}
	}
}

// TestBehindPanic: a panic that prints no stack is none of the crash behind it.
func TestBehindPanic(t *testing.T) {
	log := "Kernel panic: bus watcher\nIn interrupt handler - not syncing\n" + mips24
	if got := threadsOf(t, log); !strings.HasPrefix(got, "oops: PID 1 swapper|") || strings.Count(got, "\n") != 1 {
		t.Error(got)
	}
}

// TestProcessorOfWarning: a report without registers tells the processor by how it shows the stack, by functions that one
// processor has, or by where the addresses of its chain are.
func TestProcessorOfWarning(t *testing.T) {
	const words = "00000000 8fd5de64 805d0000 80070d24 80640000 80639a48 00000000 00000000"
	for log, want := range map[string]string{
		"WARNING: CPU: 1 PID: 147 at toy.c:949 toy_get+0x9c4/0xa14 [toy]\nStack : " + words + "\nCall Trace:\n[<8000b64c>] show_stack+0x30/0x100\n":         "mips",
		"CPU: 0 PID: 1 Comm: sh Not tainted 6.1.0 #1\nStack : 0000000000000001 ffffffff80070d24\nCall Trace:\n[<ffffffff8000b64c>] show_stack+0x30/0x100\n": "mips64",
		"CPU: 0 PID: 1 Comm: sh Not tainted 6.1.0 #1\nStack : 0000000000000001 9000000000070d24\nCall Trace:\n[<900000000020b64c>] show_stack+0x30/0x100\n": "unknown", // LoongArch
		"Call Trace:\n[<ffffffe00006d3fc>] walk_stackframe+0x0/0xa4\n[<ffffffe00006d5e2>] show_stack+0x2a/0x34\n":                                           "riscv64",
		"Call Trace:\n[<c0004c10>] riscv_timer_interrupt+0x20/0x30\n":                                                                                       "riscv32",
		"Call Trace:\n[<8056fdb0>] 0x8056fdb0\n[<80570718>] 0x80570718\n[<c0570718>] toy_read+0x30/0x40 [toy]\n[<801a0dd8>] vfs_read+0x30/0x40\n":           "mips",
		"Call Trace:\n[<c056fdb0>] toy_open+0x1/0x2\n[<c0570718>] toy_read+0x30/0x40\n[<c01a0dd8>] vfs_read+0x30/0x40\n":                                    "",
		"Call Trace:\n toy_open+0x1/0x2\n toy_read+0x30/0x40\n":                                                                                             "",
	} {
		got := ""
		for _, s := range snapshots(t, log) {
			got += s.Arch.Name
		}
		if got != want {
			t.Errorf("%s%q, want %q", log, got, want)
		}
	}
}

// TestNoNames: a kernel without the names of its functions lists addresses, and OpenWrt's says behind the name of a module
// where that lies. The chain begins at the PC, so that it was not searched for.
func TestNoNames(t *testing.T) {
	const log = `CPU 0 Unable to handle kernel paging request at virtual address 00000000, epc == 803cf5a4, ra == 83178634
Oops[#1]:
CPU: 0 PID: 1439 Comm: hostapd Not tainted 4.14.167 #0
$ 0   : 00000000 fffffff8 00000000 00000000
epc   : 803cf5a4 0x803cf5a4
ra    : 83178634 0x83178634 [toy_usb@83178000+0x2290]
BadVA : 00000000
Call Trace:
[<803cf5a4>] 0x803cf5a4
[<83178634>] 0x83178634 [toy_usb@83178000+0x2290]
[<83171634>] toy_probe+0x20/0x30 [toy_usb@83178000+0x2290]
`
	listed := snapshots(t, log)[0].Threads[0].Listed
	if len(listed) != 3 || !listed[0].Exact {
		t.Fatalf("listed %+v", listed)
	}
	for i, want := range []string{"803cf5a4 false ", "83178634 false toy_usb", "83171634 false toy_usb"} {
		if l := listed[i]; fmt.Sprintf("%x %v %s", l.PC, l.Doubtful, l.Module) != want {
			t.Errorf("%+v, want %s", l, want)
		}
	}
}

// TestSearchedForWithoutPC: a chain that lists where functions begin was searched for, each of its entries, if it does not
// begin with the function that lists it.
func TestSearchedForWithoutPC(t *testing.T) {
	const log = "sh: page allocation failure. order:3, mode:0x4020\nCall Trace:\n[<8013b478>] toy_rx+0x1ec/0x2a8 [toy]\n" +
		"[<8000150c>] ret_from_irq+0x0/0x4\n[<80300c00>] start_kernel+0x2e8/0x344\n"
	for more, want := range map[string]bool{"": false, "[<80300564>] unknown_bootoption+0x0/0x340\n": true} {
		th := &snapshots(t, log+more)[0].Threads[0]
		if th.Name != "allocation failure" {
			t.Error(th.Name)
		}
		for _, l := range th.Listed {
			if l.Searched != want {
				t.Errorf("%s: searched %v", l.Symbol, l.Searched)
			}
		}
	}
	threads := "[<800b3900>] kernel_thread_helper+0x10/0x18\n[<800b38f0>] kernel_thread_helper+0x0/0x18\n"
	for _, l := range snapshots(t, log+threads)[0].Threads[0].Listed {
		if !l.Searched {
			t.Errorf("%s: not searched", l.Symbol)
		}
	}
	lister := strings.Replace(log, "Trace:\n", "Trace:\n[<8001b478>] show_stack+0x1ec/0x2a8\n", 1) + "[<80162958>] behind_exit+0x0/0x18\n"
	if l := snapshots(t, lister)[0].Threads[0].Listed[1]; l.Searched {
		t.Error("searched for behind show_stack")
	}
}

// TestBadPointerOfMIPS: a call through a bad pointer leads to one place, and bit 0 of the pointer chooses the instruction set.
func TestBadPointerOfMIPS(t *testing.T) {
	log := "Oops[#1]:\n$28   : 82d94000 82d97f00 82a88e80 8013c484\nepc   : 63642f61 0x63642f61\nra    : 8013c484 toy_call+0xfc/0x194\n" +
		"Call Trace:\n[<8013c388>] toy_call+0x0/0x194\n"
	if l := snapshots(t, log)[0].Threads[0].Listed[0]; l.PC != 0x63642f60 || !l.Exact {
		t.Errorf("%+v", l)
	}
}
