package kernellog

import (
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
