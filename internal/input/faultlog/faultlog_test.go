package faultlog

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

func archs() cpu.Set {
	return append(append(mips.Archs(), arm.Archs()...), riscv.Archs()...)
}

// read opens a log without any binary.
func open(text string) (*target.Snapshot, error) {
	env := &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{Archs: archs()})}
	s, err := console.Format(Reader()).Open(context.Background(), input.NewCapture("log", []byte(text)), env)
	if err != nil {
		return nil, err
	}
	return s.Next(context.Background())
}

// summary is a thread in one line: title, processor, PC, SP, return address, how much
// memory, how many frames listed.
func summary(s *target.Snapshot, t *target.Thread) string {
	reg := func(r cpu.Reg) string {
		if v, ok := t.Regs.Lookup(r); ok {
			return fmt.Sprintf("%x", v)
		}
		return "-"
	}
	n := uint64(0)
	for _, m := range t.Memory.Segments() {
		n += m.Size()
	}
	return fmt.Sprintf("%s | %s %s | pc %s sp %s lr %s | %d bytes, %d listed", t.Name, s.Arch.Name, s.Arch.ABI,
		reg(s.Arch.PC), reg(s.Arch.SP), reg(s.Arch.LR), n, len(t.Listed))
}

// The forms, as firmware of our own would print them.
var formTests = []struct{ name, text, want string }{
	{"CmBacktrace", `Firmware name: fw, hardware version: V1.0.0, software version: V0.1.0
Fault on thread sensor
===== Thread stack information =====
  addr: 20001f40    data: 00000007
  addr: 20001f44    data: 08000321
====================================
=================== Registers information ====================
  R0 : 00000004  R1 : 08001a00  R2 : 00000002  R3 : a0000000
  R12: ffffffff  LR : 08000185  PC : 0800016c  PSR: 010c0200
==============================================================
Bus fault is caused by precise data access violation
Show more call stack info by run: addr2line -e fw.elf -afpiC 0800016c 08000184 08000320
`, "fault in sensor | arm cortexm | pc 800016c sp 20001f44 lr 8000185 | 8 bytes, 2 listed"},
	{"CmBacktrace, Chinese", "固件名称：fw，硬件版本号：V1，软件版本号：V2\n在线程(sensor)中发生错误异常\n===== 线程堆栈信息 =====\n" +
		"  addr: 20001f40    data: 00000007\n=================== 寄存器信息 ====================\n" +
		"  R0 : 00000004  R1 : 08001a00  R2 : 00000002  R3 : a0000000\n  R12: ffffffff  LR : 08000185  PC : 0800016c  PSR: 010c0000\n" +
		"查看更多函数调用栈信息，请运行：addr2line -e fw.elf -afpiC 0800016c 08000184\n",
		"fault in sensor | arm cortexm | pc 800016c sp 20001f40 lr 8000185 | 4 bytes, 1 listed"},
	{"CmBacktrace 1.3, an assertion, Chinese", "在线程(sensor)中发生断言\n====== 主堆栈信息 ======\n  addr: 20001f40    data: 00000007\n" +
		"查看更多函数调用栈信息，请运行：addr2line -e fw.elf -a -f 0800016c 08000184\n",
		"assertion in sensor | arm cortexm | pc - sp 20001f40 lr - | 4 bytes, 2 listed"},
	{"CmBacktrace 1.4, an overflow", `Firmware name: fw, hardware version: V1, software version: V2
Assert on thread sensor
stack_pointer: 0x1ffff950, stack_start_addr: 0x20002530, stack_end_addr: 0x20002b6c
Error: Thread stack(1ffff950) was overflow
===== Thread stack information =====
  addr: 20002530    data: a5a5a5a5
====================================
Show more call stack info by run: addr2line -e fw.elf -afpiC 0800016c 08000184
`, "assertion in sensor | arm cortexm | pc - sp 20002530 lr - | 4 bytes, 2 listed"},
	{"a plain handler on Cortex-M4F", `HardFault: exc_return ffffffe9 CFSR 00008200 HFSR 40000000 BFAR a0000000
R0 00000004 R1 00007eb4 R2 00000002 R3 a0000000
R12 00000000 LR 00000175 PC 0000015c PSR 01000200
SP 200029e0
200029c0: 00000004 00007eb4 00000002 a0000000
200029d0: 00000000 00000175 0000015c 01000200
END OF REPORT
`, "hard fault | arm cortexm | pc 15c sp 20002a2c lr 175 | 32 bytes, 0 listed"},
	{"RISC-V, a plain handler", `trap: mcause 5 mepc 800001cc mtval 10
x1  00000000800001e6 x2  0000000080006720 x3  0000000080002ea0
x8  0000000080002750 x9  0000000000000000 x10 0000000000000004

0000000080006720: 0000000000000000 000000008000020e
`, "trap | riscv64 lp64d | pc 800001cc sp 80006720 lr 800001e6 | 16 bytes, 0 listed"},
	{"RvBacktrace", `trap: mcause 5 mepc 80000208 mtval 10
x1  000000008000084e x2  000000008000ad00
---- RV_Backtrace Call Frame Start: ----
------------------------------Thread: main backtrace------------------------------
[0]Stack interval :[0x000000008000ab50 - 0x000000008000abb0]  ra 0x0000000080000988 pc 0x0000000080000984
[1]Stack interval :[0x000000008000abb0 - 0x000000008000abc0]  ra 0x000000008000084e pc 0x000000008000084a
[2]Stack interval :[0x000000008000abc0 - 0x000000008000abd0]  ra 0x00000000800000be pc 0x00000000800000ba
addr2line -e rtthread.elf -a -f ffffffff80000984 ffffffff8000084a
---- RV_Backtrace Call Frame End:----
`, "trap in main | riscv64 lp64d | pc 80000208 sp 8000ad00 lr 8000084e | 0 bytes, 2 listed"},
	{"RvBacktrace, without registers", `---- RV_Backtrace Call Frame Start: ----
------------------------------Thread: main backtrace------------------------------
[0]Stack interval :[0x000000008000ab50 - 0x000000008000abb0]  ra 0x0000000080000988 pc 0x0000000080000984
---- RV_Backtrace Call Frame End:----
`, "RvBacktrace in main | riscv64 lp64d | pc - sp - lr - | 0 bytes, 1 listed"},
	{"Zephyr, Cortex-M", `[00:00:01.010,000] <err> os: ***** USAGE FAULT *****
[00:00:01.010,000] <err> os:   Attempt to execute undefined instruction
[00:00:01.010,000] <err> os: r0/a1:  0x00000010  r1/a2:  0x00000000  r2/a3:  0x00000040
[00:00:01.010,000] <err> os: r3/a4:  0x20000334 r12/ip:  0x00000000 r14/lr:  0x08001705
[00:00:01.010,000] <err> os:  xpsr:  0x81000000
[00:00:01.010,000] <err> os: s[ 0]:  0x00000000  s[ 1]:  0x00000000
[00:00:01.010,000] <err> os: Faulting instruction address (r15/pc): 0x0800c104
[00:00:01.010,000] <err> os: >>> ZEPHYR FATAL ERROR 36: Undefined instruction on CPU 0
[00:00:01.010,000] <err> os: Current thread: 0x20000280 (shell)
`, "usage fault in shell | arm cortexm | pc 800c104 sp - lr 8001705 | 0 bytes, 1 listed"},
	{"Zephyr, RISC-V", `E:  mcause: 13, Load page fault
E:   mtval: 0
E:      a0: 00000001    t0: 00000000
E:      a1: 80001234    t1: 00000000
E:      sp: 80003c10
E:      ra: 80000206
E:    mepc: 80000204
E: mstatus: 00001880
E: call trace:
E:       0: sp: 80003c20   ra: 80000206
E:       1: sp: 80003c30   ra: 80000416
E: >>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0
`, "fault | riscv32 ilp32 | pc 80000204 sp 80003c10 lr 80000206 | 0 bytes, 2 listed"},
	{"ESP-IDF, RISC-V", `Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled.

Core  0 register dump:
MEPC    : 0x42006e56  RA      : 0x42006e50  SP      : 0x3fc8f7f0  GP      : 0x3fc8b400
S0/FP   : 0x00000000  S1      : 0x00000001  A0      : 0x00000000  A1      : 0x3fc8f000
MSTATUS : 0x00001801  MTVEC   : 0x40380001  MCAUSE  : 0x00000005  MTVAL   : 0x00000000

Stack memory:
3fc8f7f0: 0x00000000 0x42015f8a 0x00000000 0x00000000

ELF file SHA256: 0123456789abcdef
`, "panic | riscv32 ilp32 | pc 42006e56 sp 3fc8f7f0 lr 42006e50 | 16 bytes, 0 listed"},
	{"RT-Thread", `psr: 0x21000000
r00: 0x20004414
r01: 0x20000408
r12: 0x00000000
 lr: 0x08002a45
 pc: 0x08002a6a
hard fault on thread: main

thread   pri  status      sp     stack size max used left tick  error
-------- ---  ------- ---------- ----------  ------  ---------- ---
main       2  ready   0x00000044 0x00000200    47%   0x00000013 000
bus fault:
SCB_CFSR_BFSR:0x04 IMPRECISERR
`, "hard fault in main | arm cortexm | pc 8002a6a sp - lr 8002a45 | 0 bytes, 1 listed"},
	{"NuttX", `arm_hardfault: PANIC!!! Hard Fault!:
up_assert: Assertion failed at file:armv7-m/arm_hardfault.c line: 135 task: nsh
up_registerdump: R0: 00000000 08036964 00000000 00000000 20002f90 20002eb0 00000000 200028f0
up_registerdump: R8: 00000000 00000000 00000000 00000000 20002068 200028f0 0802cdcf 08014c1c
up_registerdump: xPSR: 21000000 PRIMASK: 00000000 CONTROL: 00000000
up_dumpstate: sp:         20002768
up_stackdump: 20002760: 20002768 2000281c 20002eb0 00000000
`, "hard fault in nsh | arm cortexm | pc 8014c1c sp 200028f0 lr 802cdcf | 16 bytes, 0 listed"},
	{"NuttX, an assertion, whose registers a call stored", `dump_assert_info: Current Version: NuttX  12.10.0 arm
dump_assert_info: Assertion failed panic: at file: app.c:15 task: crash process: crash 0x6dd5
up_dump_register: R0: 200009f0 R1: 0000000f R2: 20009900  R3: 00000000
up_dump_register: IP: 20003998 SP: 20003888 LR: 000015a5  PC: 000015a5
up_dump_register: xPSR: 60000000 BASEPRI: 00000080 CONTROL: 00000000
up_dump_register: EXC_RETURN: 00000000
stack_dump: 0x20003848: 200009f0 0000000f 20009900 00000000 20003998 000015a5 000015a5 60000000
stack_dump: 0x20003888: 0000bb20 0000000f 200099ac 200099ac 00006dd5 deadbeef 20009900 200009f0
`, "assertion in crash | arm cortexm | pc 15a5 sp 20003888 lr 15a5 | 64 bytes, 0 listed"},
	{"Mbed OS", `++ MbedOS Fault Handler ++

FaultType: BusFault

Context:
R   0: 00000000
R   3: A0000000
R  12: 00000000
SP   : 20001FE0
LR   : 08000A1B
PC   : 08000A20
xPSR : 61000000
-- MbedOS Fault Handler --
`, "bus fault | arm cortexm | pc 8000a20 sp 20001fe0 lr 8000a1b | 0 bytes, 0 listed"},
	{"a handler after J. Yiu", `[Hard fault handler - all numbers in hex]
R0 = 20
R1 = e000ed38
LR [R14] = 8000b1d  subroutine call return address
PC [R15] = 8000a60  program counter
PSR = 61000000
BFAR = a0000000
CFSR = 8200
`, "hard fault | arm cortexm | pc 8000a60 sp - lr 8000b1d | 0 bytes, 1 listed"},
}

// TestForms: each printer's report, among other lines, gives one thread with its registers, stack and list.
func TestForms(t *testing.T) {
	for _, c := range formTests {
		s, err := open("boot\nadc: 00001234\n" + c.text + "rebooting\n")
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := summary(s, &s.Threads[0]); got != c.want || len(s.Threads) != 1 {
			t.Errorf("%s:\n%d threads: %s; want\n           %s", c.name, len(s.Threads), got, c.want)
		}
	}
}

// TestOverflow: what the device itself found out about its stack.
func TestOverflow(t *testing.T) {
	for _, c := range formTests {
		if c.name != "CmBacktrace 1.4, an overflow" {
			continue
		}
		s, err := open(c.text)
		if err != nil {
			t.Fatal(err)
		}
		if th := s.Threads[0]; th.Stack != (target.Range{Lo: 0x20002530, Hi: 0x20002b6c}) || !strings.Contains(s.Fault.Status, "stack overflow") {
			t.Errorf("%v, %q", th.Stack, s.Fault.Status)
		}
	}
}

// TestReportsInARow: a device that reboots and crashes again makes a thread of each report.
func TestReportsInARow(t *testing.T) {
	for _, c := range formTests {
		s, err := open(c.text + "reset\n" + strings.ReplaceAll(strings.ReplaceAll(c.text, "6c", "7c"), "16", "1a"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if len(s.Threads) < 1 || len(s.Threads) > 2 {
			t.Errorf("%s: %d threads", c.name, len(s.Threads))
		}
	}
}

// TestNoReport: what only looks like one.
func TestNoReport(t *testing.T) {
	for _, text := range []string{"pc: the personal computer\n", "20002000: 00000000 00000001\n", "r0 r1 r2\n",
		"GET /index.html 200 deadbeef\n", "hard fault injection test passed\n"} {
		if s, err := open(text); err == nil {
			t.Errorf("%q: %s", text, summary(s, &s.Threads[0]))
		}
	}
}

// TestXtensa: lists of functions without register windows, and registers that another system prints, are refused by the processor's name.
func TestXtensa(t *testing.T) {
	const registers = "PC      : 0x401013b4  PS      : 0x00000030  A0      : 0x40227a43  A1      : 0x3ffedf00\nSAR     : 0x0000001d  EXCCAUSE: 0x0000001c\n"
	for what, text := range map[string]string{
		"ESP8266":           registers + "\nBacktrace: 0x401013b4:0x3ffedf00 0x40227a43:0x3ffedf10\n",
		"one stack for two": "Backtrace: 0x401013b4:0x3ffedf00 0x40227a43:0x3ffedf00\n",
		"NuttX":             "up_dump_register:    PC: 4009f3e7    PS: 00060022\nup_dump_register:   SAR: 0000001b EXCCAUSE: 00000001\n",
	} {
		if _, err := open(text); err == nil || !strings.Contains(err.Error(), "Xtensa, a processor that is not supported") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// FuzzRead: any text; the memory of a report is no larger than the text.
func FuzzRead(f *testing.F) {
	for _, c := range formTests {
		f.Add([]byte(c.text))
	}
	for _, c := range makerTests {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(ported))
	f.Add([]byte(dumpText(dumped(0x3a0))))
	env := &input.Env{Archs: archs(), Files: input.NewFiles(input.FileOptions{Archs: archs()})}
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := console.Format(Reader()).Open(context.Background(), input.NewCapture("log", text), env)
		for err == nil {
			var snap *target.Snapshot
			if snap, err = s.Next(context.Background()); err == io.EOF {
				return
			}
			for i := range snap.Threads {
				n := uint64(0)
				for _, m := range snap.Threads[i].Memory.Segments() {
					n += m.Size()
				}
				if n > uint64(len(text)) {
					t.Errorf("%d bytes of memory out of %d of text", n, len(text))
				}
			}
		}
	})
}
