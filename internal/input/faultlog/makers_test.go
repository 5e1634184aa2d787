package faultlog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/cpu/xtensa"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// makerTests are reports of boot loaders, secure worlds, hypervisors, debuggers and real-time kernels, in their makers' forms; of
// each thread summary, its listed frames, and of the fault its words.
var makerTests = []struct{ name, text, want string }{
	{"U-Boot, arm64", "\"Synchronous Abort\" handler, esr 0x96000044, far 0x10\nelr: 0000000000012ec8 lr : 0000000000012e84 (reloc)\n" +
		"elr: 000000005ff09ec8 lr : 000000005ff09e84\nx0 : 0000000000000010 x1 : 0000000000000001\nx28: 0000000000000000 x29: 000000005edb6af0\n",
		"synchronous abort | aarch64  | pc 5ff09ec8 sp - lr 5ff09e84 | 0 bytes, 1 listed: 5ff09e84? / write of a page that is not there, at 0x10"},
	{"U-Boot, RISC-V", "Unhandled exception: Load access fault\nEPC: 000000009ff639f8 RA: 000000009ff639c4 TVAL: 0000000000000010\n" +
		"EPC: 000000008000c9f8 RA: 000000008000c9c4 reloc adjusted\n\nSP:  000000009f6fadf0 GP:  000000009f6fcdd0 TP:  0000000000000001\n",
		"exception | riscv64 lp64d | pc 9ff639f8 sp 9f6fadf0 lr 9ff639c4 | 0 bytes, 1 listed: 9ff639c4? / Load access fault"},
	{"edk2, x64", "!!!! X64 Exception Type - 0E(#PF - Page-Fault)  CPU Apic ID - 00000000 !!!!\nRIP  - 000000000700D4A0, CS  - 0000000000000038, RFLAGS - 0000000000000286\n" +
		"RAX  - 0000000000000010, RCX - 0000000000000080, RDX - 0000000007C9FC30\nRBX  - 000000000746EA98, RSP - 0000000007C9FC20, RBP - 0000000007C9FD70\n",
		"exception | x86_64  | pc 700d4a0 sp 7c9fc20 lr - | 0 bytes, 0 listed: / 0E(#PF - Page-Fault)"},
	{"edk2, AArch64, with a list", "Synchronous Exception at 0x00000000EBE1E89C\nPC 0x0000EBE1E89C (0x0000EBE08000+0x0001689C) [ 0] ToyDxe.dll\n" +
		"PC 0x0000EBE0A100 (0x0000EBE08000+0x00002100) [ 0] ToyDxe.dll\n  X0 0x0000000000000010   X1 0x0000000000000000   X2 0x0000000000000010   X3 0x000000003FFFEB60\n" +
		"  SP 0x000000003FFFEB50  ELR 0x00000000EBE1E89C  SPSR 0x60000209  FPSR 0x00000000\n",
		"synchronous exception | aarch64  | pc ebe1e89c sp 3fffeb50 lr - | 0 bytes, 1 listed: ebe0a100@ToyDxe.dll / "},
	{"edk2, RISC-V", "!!!! RISCV64 Exception Type - 000000000000000F(EXCEPT_RISCV_STORE_ACCESS_PAGE_FAULT) !!!!\n     t0 = 0x00000000000001000	     t1 = 0x000000000083FF620\n" +
		"     ra = 0x00000000007E2DA9C	     sp = 0x000000000083FF5F0\n   sepc = 0x00000000007E2DB10	 stval = 0x00000000000000010\n",
		"exception | riscv64 lp64d | pc 7e2db10 sp 83ff5f0 lr 7e2da9c | 0 bytes, 1 listed: 7e2da9c? / 000000000000000F(EXCEPT_RISCV_STORE_ACCESS_PAGE_FAULT)"},
	{"OP-TEE", "E/TC:0 Core data-abort at address 0x20 (translation fault)\nE/TC:0  esr 0x96000006  ttbr0 0x0e178000   ttbr1 0x00000000   cidr 0x0\n" +
		"E/TC:0  x0  0000000000000000 x1  000000000e158620\nE/TC:0  x28 000000000e17c8e8 x29 000000000e17c720\nE/TC:0  x30 000000000e1142d8 elr 000000000e114320\n" +
		"E/TC:0 Call stack:\nE/TC:0  0x000000000e114320\nE/TC:0  0x000000000e1142d8\nE/TC:0  0x000000000e10a6b4\nE/TC:0 Panic 'unhandled pageable abort'\n",
		"data abort | aarch64  | pc e114320 sp - lr e1142d8 | 0 bytes, 2 listed: e1142d8 e10a6b4 / read of a page that is not there"},
	{"TF-A", "Unhandled Exception in EL3.\nx30            = 0x0000000004005710\nx0             = 0x0000000000000010\nesr_el3        = 0x0000000096000046\nelr_el3        = 0x0000000004004504\n" +
		"far_el3        = 0x0000000000000010\nBACKTRACE: START: report\n0: EL3: 0x4004504\n1: EL3: 0x4005710\nBACKTRACE: END: report\n",
		"exception in EL3 | aarch64  | pc 4004504 sp - lr 4005710 | 0 bytes, 1 listed: 4005710 / write of a page that is not there, at 0x10"},
	{"TF-A, a list in front of the panic", "ERROR:   exception reason=1 syndrome=0xbf000002\nBACKTRACE: START: plat_ea_handler\n0: EL3: 0x40021a0\n1: EL3: 0x4001f5c\n" +
		"BACKTRACE: END: plat_ea_handler\nPANIC at PC : 0x00000000040021b4\n", "backtrace | aarch64  | pc 40021b4 sp - lr - | 0 bytes, 2 listed: 40021a0 4001f5c / "},
	{"U-Boot, ARM", "data abort\npc : [<9ff8b1c4>]	   lr : [<9ff8b1b0>]\nreloc pc : [<080801c4>]	   lr : [<080801b0>]\nsp : 9df3fd80  ip : 00000000	 fp : 00000002\n" +
		"r3 : 00000000  r2 : 00000000	 r1 : 00000000  r0 : 00000010\n", "exception | arm  | pc 9ff8b1c4 sp 9df3fd80 lr 9ff8b1b0 | 0 bytes, 1 listed: 9ff8b1b0? / "},
	{"Xen, arm64", "(XEN) ----[ Xen-4.17  arm64  debug=y  Tainted:   C ]----\n(XEN) PC:     0000020000201234 toy_handle+0x24/0x80\n(XEN) LR:     0000020000201300\n" +
		"(XEN) SP:     00008000fbd7fe00\n(XEN)      X0: 0000000000000000  X1: 0000000000000001  X2: 0000000000000000\n(XEN) Xen call trace:\n" +
		"(XEN)    [<0000020000201234>] toy_handle+0x24/0x80 (PC)\n(XEN)    [<0000020000201300>] toy_main+0x30/0x60 (LR)\n(XEN)    [<0000020000202000>] start+0x100/0x400\n",
		"fault | aarch64  | pc 20000201234 sp 8000fbd7fe00 lr 20000201300 | 0 bytes, 2 listed: 20000201300=toy_main+48? 20000202000=start+256 / "},
	{"Xen", "(XEN) ----[ Xen-4.17.2  x86_64  debug=n  Not tainted ]----\n(XEN) RIP:    e008:[<ffff82d04023a355>] toy.c#free+0x65/0xd0\n" +
		"(XEN) rax: ffff830e12f69fa8   rbx: ffff830e12f69f40   rcx: ffff83107a06ac70\n(XEN) rbp: ffff82d040588038   rsp: ffff8310828b7cc0   r8:  0000000000000000\n" +
		"(XEN) Xen call trace:\n(XEN)    [<ffff82d04023a355>] R toy.c#free+0x65/0xd0\n(XEN)    [<ffff82d040205a10>] S move+0x120/0x900\n(XEN)    [<ffff82d0402066c8>] F toy.c#locked+0x28/0x60\n",
		"fault | x86_64  | pc ffff82d04023a355 sp ffff8310828b7cc0 lr - | 0 bytes, 2 listed: ffff82d040205a10=move+288? ffff82d0402066c8=toy.c#locked+40 / "},
	{"QNX, ARM", "QNX Version 7.1.0 Release 2021/06/08 KSB:808a0000\narmle context[fe065368]:\n0000: 00000000 0000004c 1b4c9044 1b4c8f88 1b4c9038 5a07cde4 1b4c9034 1b4c9004\n" +
		"0020: 5a07ce62 00000000 45b5be78 00000000 1b4c8f9c 5a07cdc8 1b4c66b8 1b4c65f4\n0040: 60000010\ninstruction[1b4c65f4]:\nf8 29 00 00 6e 2a\nstack[5a07cdc8]:\n0000:>1b4c900c 00000001\n",
		"shutdown | arm  | pc 1b4c65f4 sp 5a07cdc8 lr 1b4c66b8 | 8 bytes, 0 listed: / "},
	{"PMON", "Exception Epc=80256f48 Cause=0000801c (DBE)\n", "exception | mips o32 | pc 80256f48 sp - lr - | 0 bytes, 0 listed: / bus error on a read or write"},
	{"OpenTitan", "===== Exception Frame @ 1001fe88 =====\n mepc=20000a02   ra=200009b6   t0=00000038   t1=ffffffff\n t2=003c5a00   s0=0001c200   s1=005b8d80   a0=00008000\n" +
		"===== Call Stack =====\n    200024c4\n    20000e52\nE00002 ottf_isrs.c:98] FAULT: Store Access Fault. MCAUSE=00000007 MEPC=200009fe MTVAL=00008000\n",
		"exception | riscv32 ilp32 | pc 200009fe sp - lr 200009b6 | 0 bytes, 2 listed: 200024c4? 20000e52? / write was refused, at 0x8000"},
	{"ESP-IDF, Xtensa", "Guru Meditation Error: Core  0 panic'ed (StoreProhibited). Exception was unhandled.\n\nCore  0 register dump:\n" +
		"PC      : 0x400d0190  PS      : 0x00060a30  A0      : 0x800d0133  A1      : 0x3ffb4e40\nA14     : 0x00000000  A15     : 0x3ffb4e80  SAR     : 0x00000010  EXCCAUSE: 0x0000001d\n" +
		"EXCVADDR: 0x00000014  LBEG    : 0x4000c2e0  LEND    : 0x4000c2f6  LCOUNT  : 0xffffffff\n\n\nBacktrace: 0x400d018d:0x3ffb4e40 0x400d0130:0x3ffb4e60 0x400d0239:0x00000000 |<-CORRUPTED\n\n" +
		"Core  1 register dump:\nPC      : 0x400d0210  PS      : 0x00060a30  A0      : 0x800d0290  A1      : 0x3ffb5e40\nSAR     : 0x00000010  EXCCAUSE: 0x00000005\n\n" +
		"Backtrace: 0x400d020d:0x3ffb5e40 0x400d028d:0x3ffb5e60\n\nELF file SHA256: 1b43c5e741b43c5e\n",
		"panic | xtensa windowed | pc 400d0190 sp 3ffb4e40 lr 800d0133 | 0 bytes, 2 listed: 400d0133 400d023c / StoreProhibited: write was refused, at 0x14\n" +
			"fault | xtensa windowed | pc 400d0210 sp 3ffb5e40 lr 800d0290 | 0 bytes, 1 listed: 400d0290 / StoreProhibited: write was refused, at 0x14"},
	{"ESP-IDF, Xtensa: the watchdog's lists without registers", "E (103) task_wdt: Task watchdog got triggered.\nE (103) task_wdt: Print CPU 0 (current core) backtrace\n\n" +
		"Backtrace: 0x400D0190:0x3FFB4E40 0x400D0130:0x3FFB4E60 |<-CONTINUES\n\nE (103) task_wdt: Print CPU 1 backtrace\n\nBacktrace: 0x400d0239:0x3ffb4e80\n",
		"fault | xtensa windowed | pc - sp - lr - | 0 bytes, 2 listed: 400d0193 400d0133 / \nfault | xtensa windowed | pc - sp - lr - | 0 bytes, 1 listed: 400d023c / "},
	{"Zephyr, Xtensa", "E:  ** CPU 4 EXCCAUSE 63 (zephyr exception)\nE:  **  PC 0xa0031f53 VADDR (nil)\nE:  **  A0 0xa0034058  SP 0xa003e5b0  A2 0x4  A3 (nil)\n\n" +
		"Backtrace:0xa0031f50:0xa003e5b0 0xa0034055:0xa003e5c0\n", "fault | xtensa windowed | pc a0031f53 sp a003e5b0 lr a0034058 | 0 bytes, 1 listed: a0034058 / "},
	{"rows without a heading", "R0: 00000002 R1: 3c4927c4 R2: 3c480684  R3: 3c4927c4\nR12: 00020040 SP: 3c49fba0 LR: 2c5198ef  PC: 2c54468a\nxPSR: 210f0000\n",
		"fault | arm cortexm | pc 2c54468a sp 3c49fba0 lr 2c5198ef | 0 bytes, 0 listed: / "},
	{"GDB, from the first register on", "=== REGISTERS ===\nr7             0xa5a5a5a5          2779096485\nsp             0x20024fd8          0x20024fd8\n" +
		"lr             0x36761             223073\npc             0x36770             0x36770 <sleep+152>\ncpsr           0x1000000           16777216\n",
		"fault | arm  | pc 36770 sp 20024fd8 lr 36761 | 0 bytes, 0 listed: / "},
	{"J-Link's GDB server", "Read register 'r0' (4 bytes) from hardware: 0x00000000\nRead register 'r1' (4 bytes) from hardware: 0x00000000\nRead register 'sp' (4 bytes) from hardware: 0x20010000\n" +
		"Read register 'lr' (4 bytes) from hardware: 0xFFFFFFFF\nRead register 'pc' (4 bytes) from hardware: 0x08000200\nRead register 'xpsr' (4 bytes) from hardware: 0x01000000\n",
		"fault | arm cortexm | pc 8000200 sp 20010000 lr ffffffff | 0 bytes, 0 listed: / "},
	{"NuttX, tasks", "riscv_exception: PANIC!!! Exception = 00000005\nup_assert: Assertion failed at file:a.c line: 94 task: init\n[BackTrace| 3|0]:  0x4200bdd8 0x4200989c\n" +
		"riscv_registerdump: EPC:4200bdd8\nriscv_registerdump: SP:3fc9a980 FP:3fc9a9b0 TP:00000000 RA:4200bd86\nriscv_taskdump: \nriscv_taskdump: driver: PID=11\n" +
		"[BackTrace|11|0]:  0x420082ae 0x42003afc\nriscv_registerdump: EPC:420082ae\nriscv_registerdump: SP:3fc88540 FP:3fc88560 TP:00000000 RA:42003ad8\n" +
		"riscv_taskdump: \nriscv_taskdump: client: PID=12\n[BackTrace|12|0]:  0x420082ae 0x42097868\n",
		"assertion in init | riscv32 ilp32 | pc 4200bdd8 sp 3fc9a980 lr 4200bd86 | 0 bytes, 1 listed: 4200989c / \n" +
			"task in driver | riscv32 ilp32 | pc 420082ae sp 3fc88540 lr 42003ad8 | 0 bytes, 1 listed: 42003afc\n" +
			"task in client | riscv32 ilp32 | pc - sp - lr - | 0 bytes, 2 listed: 420082ae 42097868"},
	{"NuttX, a list of all tasks", "arm_hardfault: PANIC!!! Hard Fault!:\nup_dump_register: R0: 00000000 R1: 00000001 R2: 3c010203  R3: 3c010204\n" +
		"up_dump_register: IP: 0000000c SP: 3c010100 LR: 2c319b99  PC: 2c325bde\nup_dump_register: xPSR: 61000000\n" +
		"dump_task:      11    11 100 RR       Task    -   Waiting Semaphore  0000000000000000 0x3c020000      2024       800    40.0%    worker\n" +
		"sched_dumpstack: backtrace|11: 0x2c3428cc 0x2c33ed14\nsched_dumpstack: backtrace|10: 0x2c325bde 0x2c319b98\nsched_dumpstack: [ 0] [<0x2c300010>] start+0x10/0x100\n",
		"hard fault in task 10 | arm cortexm | pc 2c325bde sp 3c010100 lr 2c319b99 | 0 bytes, 1 listed: 2c319b98 / \n" +
			"worker | arm cortexm | pc - sp - lr - | 0 bytes, 2 listed: 2c3428cc 2c33ed14\ntask 0 | arm cortexm | pc - sp - lr - | 0 bytes, 1 listed: 2c300010=start+16"},
	{"NuttX names the processor by a file", "up_assert: Assertion failed at file:armv8-m/arm_usagefault.c line: 113 task: init\nbacktrace|10:  0x2c325bde 0x2c319b98\n",
		"assertion in init | arm cortexm | pc - sp - lr - | 0 bytes, 2 listed: 2c325bde 2c319b98 / "},
	{"probe-run", "stack backtrace:\n   0: 0x000015b0 @ HardFaultTrampoline\n      <exception entry>\n   1: 0x000001be @ app::__cortex_m_rt_main\n        at src/main.rs:8:5\n",
		"hard fault | arm cortexm | pc - sp - lr - | 0 bytes, 2 listed: 15b0=HardFaultTrampoline+0 1be=app::__cortex_m_rt_main+0 / "},
	{"Zephyr on x86, and its core dump", "E: Page fault at address 0x0 (error code 0x2)\nE: EAX: 0x00000001, EBX: 0x00000000, ECX: 0x00119d74, EDX: 0x000003f8\n" +
		"E: ESI: 0x00000000, EDI: 0x00101aa7, EBP: 0x00119d10, ESP: 0x00119d00\nE: call trace:\nE: EIP: 0x00100459\nE:      0x00100477 (0x0)\n" +
		"E: #CD:BEGIN#\nE: #CD:5a4501000100050000000000\nE: #CD:4101003400\nE: #CD:0e0000000200000001000000749d1100f803000000000000009d1100109d1100\nE: #CD:00000000a71a10005904100006020000" +
		"08000000\nE: #CD:4d0100009d1100089d11000102030405060708\nE: #CD:END#\n",
		"page fault | i386  | pc 100459 sp 119d00 lr - | 8 bytes, 1 listed: 100477 / "},
	{"Zephyr on Xtensa with SCOMPARE1 and loops", "E: #CD:BEGIN#\nE: #CD:5a4502000500050000000000\nE: #CD:4101006800\nE: #CD:05020001\n" +
		"E: #CD:00a037401d0000001400000000000000200d060000000000fd75008200ddc93f02000000030000000400000005000000060000000700000008000000090000000a0000000b0000000c0000000d0000000e0000000f0000005c6f0540726f054000000000\nE: #CD:4d010000ddc93f08ddc93f0102030405060708\nE: #CD:END#\n",
		"core dump | xtensa windowed | pc 4037a000 sp 3fc9dd00 lr 820075fd | 8 bytes, 0 listed: / "},
	{"Zephyr on Xtensa without these", "E: #CD:BEGIN#\nE: #CD:5a4502000500050000000000\nE: #CD:4101005800\nE: #CD:05020001\n" +
		"E: #CD:00a037401d0000001400000000000000200d0600fd75008200ddc93f02000000030000000400000005000000060000000700000008000000090000000a0000000b0000000c0000000d0000000e0000000f000000\nE: #CD:4d010000ddc93f08ddc93f0102030405060708\nE: #CD:END#\n",
		"core dump | xtensa windowed | pc 4037a000 sp 3fc9dd00 lr 820075fd | 8 bytes, 0 listed: / "},
	{"Zephyr on arm64, a dump of zeros", "E: ELR_ELn: 0x0000000040001a5c\nE: ESR_ELn: 0x0000000096000044\nE: FAR_ELn: 0x0000000000000010\nE: x0:  0x0000000000000000  x1:  0x0000000000000000\n" +
		"E: x29: 0x0000000040031f70  x30:  0x0000000040001a50\nE: #CD:BEGIN#\nE: #CD:5a4501000600060000000000\nE: #CD:4101000800\nE: #CD:0000000000000000\nE: #CD:END#\n",
		"core dump | aarch64  | pc 40001a5c sp - lr 40001a50 | 0 bytes, 0 listed: / write of a page that is not there, at 0x10"},
}

// makerArchs are all processors.
func makerArchs() cpu.Set { return slices.Concat(x86.Archs(), arm64.Archs(), archs(), xtensa.Archs()) }

// TestMakers: what the device printed is read, and nothing else.
func TestMakers(t *testing.T) {
	env := &input.Env{Archs: makerArchs(), Files: input.NewFiles(input.FileOptions{Archs: makerArchs()})}
	for _, c := range makerTests {
		s, err := console.Format(Reader()).Open(t.Context(), input.NewCapture("log", []byte("boot\n"+c.text+"\nboot\n")), env)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		snap, err := s.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range snap.Threads {
			th := &snap.Threads[i]
			line := summary(snap, th) + ":"
			for _, l := range th.Listed {
				line += " " + listedText(&l)
			}
			if th.Crashed {
				line += " / " + snap.Fault.Status
			}
			got = append(got, strings.ReplaceAll(line, ":  /", ": /"))
		}
		if text := strings.Join(got, "\n"); text != c.want {
			t.Errorf("%s:\n%s\nwant\n%s\n%v", c.name, text, c.want, snap.Issues)
		}
	}
}

// listedText is a listed frame: its PC, module and function, and ? where it was searched for.
func listedText(l *target.Listed) string {
	text := fmt.Sprintf("%x", l.PC)
	if l.Module != "" {
		text += "@" + l.Module
	}
	if l.Symbol != "" {
		text += fmt.Sprintf("=%s+%d", l.Symbol, l.Offset)
	}
	if l.Searched {
		text += "?"
	}
	return text
}
