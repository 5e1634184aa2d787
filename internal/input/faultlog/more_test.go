package faultlog

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// TestNoFrame: where the processor could push no exception frame, what a handler read at its place is not believed, and a report may have
// the stack pointer alone.
func TestNoFrame(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"below a limit", "HardFault: exc_return fffffffd CFSR 00100000 HFSR 40000000\nR0 00000001 R1 100106eb R2 00000004 R3 1001072f\n" +
			"R4 0000001d R12 a5a5a5a5 LR 0000001d PC a5a5a5a5 PSR a5a5a595\nSP 38005ef0 PSP 38005ed0\n",
			"hard fault | arm cortexm | pc - sp 38005ef0 lr - | 0 bytes, 0 listed"},
		{"below all memory", "HardFault: exc_return fffffffd CFSR 00001000 HFSR 40000000\nSP 1ffd2350 PSP 1ffd2330\n",
			"hard fault | arm cortexm | pc - sp 1ffd2350 lr - | 0 bytes, 0 listed"},
	} {
		s, err := open(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := summary(s, &s.Threads[0]); got != c.want || len(s.Issues) != 1 || !strings.Contains(s.Issues[0].Text, "could not push the exception frame") {
			t.Errorf("%s: %s; want %s; %v", c.name, got, c.want, s.Issues)
		}
	}
}

// TestOverflowed: a task's name as kernels and their hooks print it.
func TestOverflowed(t *testing.T) {
	for line, want := range map[string]string{
		"STACK OVERFLOW in net":                                       "net",
		"Stack overflow detected in task: net!":                       "net",
		"***ERROR*** A stack overflow in task net has been detected.": "net",
		"thread:net stack overflow":                                   "net",
		"kernel: stack":                                               "",
		"Stack overflow":                                              "",
	} {
		if got, _ := overflowed(line); got != want {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// TestOwnWays: reports that say a register, a frame or a fault in a way of their own.
func TestOwnWays(t *testing.T) {
	for _, c := range []struct{ name, text, want, status string }{
		{"nRF5 SDK", "<error> hardfault: HARD FAULT at 0x0002F1A0\n<error> hardfault:   R0:  0x00000001  R1:  0x20001000  R2:  0x00000012  R3:  0x00000003\n" +
			"<error> hardfault:   R12: 0x00000003  LR:  0x0002E0D5  PSR: 0x21000000\n",
			"hard fault | arm cortexm | pc 2f1a0 sp - lr 2e0d5 | 0 bytes, 1 listed", ""},
		{"TinyGo", "fatal error: HardFault with sp=0x20001f90 pc=0x08000aa0 lr=0x08000b41 psr=0x61000000\n",
			"fault | arm cortexm | pc 8000aa0 sp 20001f90 lr 8000b41 | 0 bytes, 0 listed", ""},
		{"a handler that says what its registers are", "***** HardFault *****\nLink Reg Value (at entry): 0xFFFFFFED\nHFSR (HardFault Status): 0x40000000\n" +
			"CFSR (Configurable Fault Status): 0x00008200\nBFAR (BusFault Addr): 0x60000000\nR0 : 0x00000006\nR1 : 0x00001F40\n" +
			"Stacked PC: 0x08001242\nStacked PSR: 0x41000000\nStacked LR: 0x080012DD\n",
			"hard fault | arm cortexm | pc 8001242 sp - lr 80012dd | 0 bytes, 1 listed", "precise data bus error (PRECISERR), at 0x60000000"},
		{"a handler that prints its own LR too", "CFSR=00000400 PSP=20003A10 LR=FFFFFFFD r0=00000001 r1=20001000 lr=08000BB1 pc=08000B1C psr=61000000\n",
			"fault | arm cortexm | pc 8000b1c sp - lr 8000bb1 | 0 bytes, 1 listed", "imprecise data bus error: a store some instructions before the PC (IMPRECISERR)"},
		{"stacked registers", "SCB->HFSR: 40000000\nSCB->CFSR: 00008200\nSCB->BFAR: 00000010\nstacked_r0: 20000010 stacked_r1: 00000000 stacked_r2: 00000001\n" +
			"stacked_r12: 00000000 stacked_lr: 08001235 stacked_pc: 080019ea stacked_psr: 61000000\n",
			"fault | arm cortexm | pc 80019ea sp - lr 8001235 | 0 bytes, 1 listed", "precise data bus error (PRECISERR), at 0x10"},
		{"Teensy", "CrashReport:\n  A problem occurred at (system time) 10:29:27\n  Code was executing from address 0x1C6A\n  CFSR: 82\n\t(DACCVIOL) Data Access Violation\n" +
			"\t(MMARVALID) Accessed Address: 0x10\n", "crash | arm cortexm | pc 1c6a sp - lr - | 0 bytes, 0 listed", "access to memory that may not be accessed (DACCVIOL), at 0x10"},
		{"PX4: CFSR counts, not its parts", " r0:0x0000000d r1:0x20061ec0 sp:0x20061e68 lr:0x081068df pc:0x081702fc\n xpsr:0x01000000\n exe return:0xffffffe9\n" +
			" cfsr:0x00000400 hfsr:0x40000000  mmfsr:0x0000004a  bfsr:0x0000004a\nInterrupt sp memory region\n0x2002171f 0x08000000\n0x2002171e 0x08000001\n",
			"fault | arm cortexm | pc 81702fc sp 20061e68 lr 81068df | 0 bytes, 0 listed", "imprecise data bus error: a store some instructions before the PC (IMPRECISERR)"},
		{"Zephyr says CFSR in words", "E: ***** MPU FAULT *****\nE: Data Access Violation\nE: MMFAR Address: 0x9\nE: r0/a1: 0x00000001 r1/a2: 0x00000000 r2/a3: 0x00000010\n" +
			"E: r3/a4: 0x00000008 r12/ip: 0x00000000 r14/lr: 0x0002385f\nE: xpsr: 0x01000000\nE: Faulting instruction address (r15/pc): 0x00023888\n",
			"MPU fault | arm cortexm | pc 23888 sp - lr 2385f | 0 bytes, 1 listed", "access to memory that may not be accessed (DACCVIOL), at 0x9"},
		{"Zephyr on Cortex-R", "E: ***** DATA ABORT *****\nE: Permission Fault @ 0x30\nE: r0/a1:  0x00000000  r1/a2:  0x00000030  r2/a3:  0x31001b18\n" +
			"E: r3/a4:  0x00000000 r12/ip:  0x31000fcc r14/lr:  0x3100431c\nE:  xpsr:  0x4000011f\nE: Faulting instruction address (r15/pc): 0x3100477c\n",
			"data abort | arm  | pc 3100477c sp - lr 3100431c | 0 bytes, 1 listed", ""},
		{"ESP-IDF: abort", "abort() was called at PC 0x42001be5 on core 0\nCore  0 register dump:\nMEPC    : 0x40800ecc  RA      : 0x40804152  SP      : 0x4080f330\n" +
			"MCAUSE  : 0x00000002  MTVAL   : 0x00000000\n",
			"abort | riscv32 ilp32 | pc 40800ecc sp 4080f330 lr 40804152 | 0 bytes, 0 listed", "illegal instruction"},
		{"Rust's Debug", "panicked at src/trap.rs:25:13:\nUnexpected trap: Context { ra: 2147484672, mepc: 2147484688, sp: 2147491840, a0: 7 }, mcause: 0x2, mtval: 0x0\n",
			"trap | riscv32 ilp32 | pc 80000410 sp 80002000 lr 80000400 | 0 bytes, 0 listed", "illegal instruction"},
		{"Kendryte SDK", "core dump: misaligned load\nCause 0x0000000000000004, EPC 0x00000000800fb2e4\n" +
			"reg[00](zero ) = 0x0000000000000000, reg[01](ra   ) = 0x00000000800fb2cc\nreg[02](sp   ) = 0x00000000803a8470, reg[04](tp   ) = 0x0000000000000000\n" +
			"reg[26](s10  ) = 0x0000000000000000, reg[27](s11  ) = 0x0000000000000000\nreg[31](t6   ) = 0x0000000000001720\n",
			"fault | riscv64 lp64d | pc 800fb2e4 sp 803a8470 lr 800fb2cc | 0 bytes, 0 listed", "read from an address that is not aligned"},
		{"RT-Thread in supervisor mode", "xcause = 00000002,xtval = 80200112,xepc = 8025fdf8\n\nException:\nIllegal instruction\n",
			"fault | riscv32 ilp32 | pc 8025fdf8 sp - lr - | 0 bytes, 0 listed", "illegal instruction: 0x80200112"},
		{"NuttX, lists of 2021", "up_assert: Assertion failed at file:arch.c line: 9 task: Idle Task\n[ EMERG] riscv_registerdump: EPC:420082ae \n" +
			"[ EMERG] riscv_registerdump: SP:3fcaeb50 FP:3fcaeb70 TP:00000000 RA:42003ad8\n[  INFO] [BackTrace|11|0]:  0x420082ae 0x42003afc 0x420fccc4\n",
			"assertion in Idle Task | riscv32 ilp32 | pc 420082ae sp 3fcaeb50 lr 42003ad8 | 0 bytes, 2 listed", ""},
		{"NuttX on ARM prints R7 as FP", "arm_hardfault: PANIC!!! Hard Fault!:\narm_registerdump: R0: 00000000 R1: 0000000a R2: e000ed14  R3: 00070210\n" +
			"arm_registerdump: R4: 00000000 R5: 20061b76 R6: 20061b58  FP: 00000003\narm_registerdump: R8: 00000000 SB: 00000000 SL: 00000000 R11: 00000000\n" +
			"arm_registerdump: IP: 00000000 SP: 20062308 LR: 080196d3  PC: 0812904e\narm_registerdump: xPSR: 61000000 BASEPRI: 000000f0 CONTROL: 00000000\n",
			"hard fault | arm cortexm | pc 812904e sp 20062308 lr 80196d3 | 0 bytes, 0 listed", ""},
	} {
		s, err := open(c.text)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := summary(s, &s.Threads[0]); got != c.want || len(s.Threads) != 1 || s.Fault.Status != c.status || len(s.Issues) != 0 {
			t.Errorf("%s:\n%d threads: %s; want\n           %s\n%q, want %q; %v", c.name, len(s.Threads), got, c.want, s.Fault.Status, c.status, s.Issues)
		}
	}
}

// TestStackError: where Zephyr says that the frame was not pushed, the registers are old.
func TestStackError(t *testing.T) {
	s, err := open("E: ***** BUS FAULT *****\nE:   Stacking error\nE: r0/a1: 0x00000001 r1/a2: 0x00000000\nE: r14/lr: 0x0002385f\nE: xpsr: 0x01000000\n" +
		"E: Faulting instruction address (r15/pc): 0x00023888\n")
	if err != nil || !s.Threads[0].Stale {
		t.Errorf("%v, %+v", err, s)
	}
}

// TestTasksInARow: tasks that wait in one function have one PC; the list of frames behind
// each ends its report.
func TestTasksInARow(t *testing.T) {
	task := "riscv_registerdump: EPC:420082ae \nriscv_registerdump: SP:3fcaeb50 FP:3fcaeb70 TP:00000000 RA:42003ad8\nbacktrace|11:  0x420082ae 0x42003afc\n"
	s, err := open(task + strings.ReplaceAll(task, "3fcae", "3fcb0"))
	if err != nil || len(s.Threads) != 2 || len(s.Threads[0].Listed) != 1 {
		t.Errorf("%v, %+v", err, s)
	}
}

// TestCutByReset: a report that a reset cut short lends no registers to the next one.
func TestCutByReset(t *testing.T) {
	cut := "E: ***** BUS FAULT *****\nE: BFAR Address: 0xa0000000\nE: r0/a1:  0x00000007  r1/a2:  0x00000000  r2/a3:  0x20001a00\nE: r3\nreset\n"
	for name, next := range map[string]string{
		"another system's": "arm_hardfault: PANIC!!! Hard Fault!:\nup_registerdump: R0: 00000001 00001bc7 00000000 a0000000 200008f0 00000001 a5a5a5a5 a5a5a5a5\n" +
			"up_registerdump: R8: a5a5a5a5 a5a5a5a5 a5a5a5a5 a5a5a5a5 a5a5a5a5 20001ac8 00000ea7 000003a8\nup_registerdump: xPSR: 01000000\n",
		"the same system's": "E: ***** BUS FAULT *****\nE: r0/a1:  0x00000001  r1/a2:  0x00000000\nE: r14/lr:  0x00000ea7\nE: xpsr: 0x01000000\n" +
			"E: Faulting instruction address (r15/pc): 0x000003a8\n",
	} {
		s, err := open(cut + next)
		if err != nil || len(s.Threads) != 1 || s.Threads[0].Regs.Val[0] != 1 {
			t.Errorf("%s: %v, %+v", name, err, s)
		} else if len(s.Issues) != 1 || !strings.Contains(s.Issues[0].Text, "bus fault: no address of code") {
			t.Errorf("%s: %v", name, s.Issues)
		}
	}
}

// TestBounds: what ESP-IDF says of a stack that the processor watches.
func TestBounds(t *testing.T) {
	s, err := open("Guru Meditation Error: Core  0 panic'ed (Stack protection fault).\n\nDetected in task \"main\" at 0x420049e2\nStack pointer: 0x4082b080\n" +
		"Stack bounds: 0x4082b090 - 0x4082c280\n\nCore  0 register dump:\nMEPC    : 0x42004a84  RA      : 0x42004ade  SP      : 0x4082b080  GP      : 0x40819b44\n" +
		"MCAUSE  : 0x0000001b  MTVAL   : 0x00000000\n")
	if err != nil {
		t.Fatal(err)
	}
	if th := s.Threads[0]; th.Stack != (target.Range{Lo: 0x4082b090, Hi: 0x4082c280}) || th.Name != "panic in main" {
		t.Errorf("%q, %v", th.Name, th.Stack)
	}
	if s.Fault.Status != "exception cause 27: Stack protection fault" {
		t.Errorf("%q", s.Fault.Status)
	}
}

// TestRefused: a report of which nothing can be shown says why.
func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"Firmware name: fw, hardware version: V1\nFault on thread monitor\nError: Thread stack(20000d00) was overflow\n": "fault in monitor: no address of code",
		"Firmware exited unexpectedly\n    Frame 0: HardFault_ @ 0x0800205a\n    Frame 1: main @ 0x0800070a\n":           "nothing tells the processor",
		"stack backtrace:\n   0: app::main\n   1: Reset\n":                                                               "nothing tells the processor",
	} {
		if _, err := open(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", text, err, want)
		}
	}
}

// TestUnwinderStopped: what probe-rs lists in the place of a frame where it could not go on.
func TestUnwinderStopped(t *testing.T) {
	log := console.NewLog(t.Context(), []byte("    Frame 0: HardFault_ @ 0x080003fc\n    Frame 1: UNWIND: no stack pointer @ 0x080003fc\n"))
	var l lister
	for i := range log.Len() {
		l.take(log.Line(i))
	}
	if len(l.chains) != 1 || len(l.chains[0].listed) != 1 {
		t.Errorf("%+v", l.chains)
	}
}

// TestInVain: registers of no processor that is known, at each of which a report may begin that goes on for all further lines, are
// not looked at from each line on.
func TestInVain(t *testing.T) {
	const lines = 2000
	log := console.NewLog(t.Context(), []byte(strings.Repeat(strings.Repeat("PC  : 08000101  ", 250)+"\n", lines)))
	env := &input.Env{Archs: makerArchs(), Files: input.NewFiles(input.FileOptions{Archs: makerArchs()})}
	for at := 0; at < log.Len(); at++ {
		if r, _ := read(t.Context(), log, at, env); r != nil {
			t.Fatalf("line %d begins a report", at)
		}
	}
	m := log.Memo(memoryKey{}, nil).(*memory)
	if most := vainPerReport*log.MaxReports() + lines*4000; m.vain == 0 || m.vain > most {
		t.Errorf("%d bytes were looked at, not at most %d", m.vain, most)
	}
}
