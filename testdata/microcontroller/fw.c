// Firmware with a small preemptive kernel, whose tasks crash in chosen ways and whose fault
// handler reports in chosen forms. Contexts and control blocks are laid out as a real-time kernel
// does, by its documentation (-DRTOS=FREERTOS, …). Scenario and form come from QEMU's semihosting
// command line: "fw SCENARIO FORM". Behind the report the handler writes all of RAM to ram.bin.
#include <stdint.h>
#include <stddef.h>
#define NI __attribute__((noinline, noclone))
#ifdef __thumb__
#define THUMB 1
#else
#define THUMB 0
#endif
#if defined __arm__ && __ARM_ARCH_PROFILE == 'M'
#define CORTEX_M 1
#endif
typedef uintptr_t word;
#define W sizeof(word)
#define FREERTOS 1
#define RTTHREAD 2
#define THREADX 3
#define RTX5 4
#define NUTTX 5
#define ZEPHYR 6
#define CHIBIOS 7

extern char __ram_start[], __ram_end[], __bss_start[], __bss_end[], __data_start[], __data_end[], __data_load[], __stack_end[];
static char command[80], *form = "plain";

#ifdef __mips__ // QEMU's UHI: the operation in $25
static word uhi(word op, word a, word b, word c) { register word v0 __asm__("$2") = 1; register word t9 __asm__("$25") = op; register word a0 __asm__("$4") = a; register word a1 __asm__("$5") = b; register word a2 __asm__("$6") = c; __asm__ volatile("sdbbp 1" : "+r"(v0), "+r"(a0) : "r"(t9), "r"(a1), "r"(a2) : "$3", "memory"); return v0; }
#elif defined __arm__
#ifdef CORTEX_M
#define HOST "bkpt 0xab"
#else
#define HOST "svc 0x123456"
#endif
static word host(word op, void *arg) { register word r0 __asm__("r0") = op; register void *r1 __asm__("r1") = arg; __asm__ volatile(HOST : "+r"(r0) : "r"(r1) : "memory"); return r0; }
#else
NI __attribute__((naked, aligned(16))) static word host(word op, void *arg) { __asm__ volatile(".option push\n.option norvc\n.balign 16\nslli x0,x0,0x1f\nebreak\nsrai x0,x0,7\nret\n.option pop"); }
#endif

static char out[2048]; static unsigned used;
#ifdef __mips__
static void flush(void) { uhi(5, 1, (word)out, used); used = 0; }
#else
static void flush(void) { out[used] = 0; host(4, out); used = 0; }
#endif
static void put(const char *s) { while (*s) { out[used++] = *s++; if (used == sizeof out - 1) flush(); } }
static void hex(word v, int digits) { char b[17]; b[digits] = 0; for (int i = digits; i--; v >>= 4) b[i] = "0123456789abcdef"[v & 15]; put(b); }
static void full(word v) { hex(v, 2 * W); }
static void dec(unsigned v) { char b[12]; int i = 11; b[i] = 0; do b[--i] = '0' + v % 10; while (v /= 10); put(b + i); }
static int is(const char *a, const char *b) { while (*a && *a == *b) a++, b++; return *a == *b; }
static void *fill(void *p, int c, size_t n) { char *q = p; while (n--) *q++ = c; return p; }
void *memset(void *p, int c, size_t n) { return fill(p, c, n); }
void *memcpy(void *d, const void *s, size_t n) { char *a = d; const char *b = s; while (n--) *a++ = *b++; return d; }

// ---- the kernel

// The header of a kernel has the control block, and how a new task lies in memory.
#if RTOS <= RTTHREAD
#include "freertos.h"
#else
struct task;
static struct task *tasks[8]; static unsigned count; struct task *volatile current; static volatile unsigned ticks;
static char heap[12 << 10] __attribute__((aligned(16))); static size_t heap_at;
static void *get(size_t n) { void *p = heap + heap_at; heap_at += (n + 15) & ~(size_t)15; return p; }
__attribute__((unused)) static void ended(void) { for (;;) {} }
#ifdef CORTEX_M
// What the processor pushes when an interrupt comes before the first instruction of a function.
__attribute__((unused)) static word *frame(word *top, void (*f)(void), word lr) { *--top = 1 << 24; *--top = (word)f & ~1u; *--top = lr; return top - 5; }
// r4-r11 of a new task. No code uses r9 (-ffixed-r9; -ffixed-x27 on RISC-V): each task keeps its
// number there.
static word *preserved(word *sp) { sp -= 8; fill(sp, 0, 8 * W); sp[5] = 0x9000 + count; return sp; }
#endif
#if RTOS == THREADX
#include "threadx.h"
#elif RTOS == RTX5
#include "rtx5.h"
#elif RTOS == NUTTX
#include "nuttx.h"
#elif RTOS == ZEPHYR
#include "zephyr.h"
#else
#include "chibios.h"
#endif
#define SP_AT offsetof(struct task, sp)
// The next task that does not wait.
NI void pick(void)
{
	struct task *old = current; unsigned i = 0;
	while (tasks[i] != old) i++;
	do i = (i + 1) % count; while (WAITS(tasks[i]));
	current = tasks[i]; switched(old);
}
static void create(const char *name, void (*f)(void), size_t size) { struct task *t = lay(name, f, size); tasks[count++] = t; }
#endif

// ---- what crashes

volatile int sink, zero; typedef int (*fn)(int); fn volatile target; volatile float real;
#ifdef __arm__
volatile int *volatile bad = (volatile int *)0xa0000000u;
#else
volatile int *volatile bad = (volatile int *)0x10;
#endif
NI int leaf(int x) { return *bad + x; }
NI int mid_c(int x) { sink = x; int r = leaf(x + 1); return r * 3; }
NI int mid_b(int x) { volatile char b[40]; b[x & 15] = x; int r = mid_c(x + 1); return r + b[2]; }
NI int mid_a(int x) { int r = mid_b(x + 1); sink = r; return r + 7; }
NI int call(int x) { sink = x; int r = target(x); sink = r; return r + 1; }
NI int call_a(int x) { int r = call(x + 1); sink = r; return r + 3; }
NI float divide(float a) { float t = a / 3; sink = *bad; return t; }
NI float real_a(float a) { real = a; float r = divide(a + 1); return r * 2 + real; }
NI int deep(int n) { volatile char b[20]; b[n & 15] = n; int r = n ? deep(n - 1) : leaf(n); return r + b[3]; }
NI int large(int x) { volatile char b[600]; b[x] = x; int r = mid_b(x); return r + b[1]; }
#if RTOS == ZEPHYR // comes down through the stack of busy to the middle of that of log
NI int descend(int x) { volatile int b[6]; b[x & 3] = x; int r = (word)b > (word)tasks[2]->stack + tasks[2]->size / 2 ? descend(x + 1) : leaf(x); return r + b[x & 3]; }
#endif
NI int in_interrupt(int x) { sink = x; return mid_a(x) + 1; }
static int nested;
void raise(int number); // an interrupt, of which the second one interrupts the handler of the first
NI int between(int x) { raise(1); while (sink != x + 999) {} return x; }
NI int outer(int x) { int r = between(x + 1); sink = r; return r; }
#if defined CORTEX_M && RTOS > RTTHREAD
#define CHAINED nested == 2
NI int spin_both(int x) { __asm__ volatile("cpsid i"); raise(0); raise(1); __asm__ volatile("cpsie i"); while (sink != x + 12345) {} return x; }
#else
#define CHAINED 0
#endif
void inner(void) { if (CHAINED) return; sink = in_interrupt(6); }
void interrupt(void) { sink = nested && !(CHAINED) ? outer(4) : in_interrupt(5); }
NI int spin(int x) { raise(0); while (sink != x + 12345) {} return x; }
NI int wait_interrupt(int x) { int r = spin(x + 1); sink = r; return r + 2; }

NI void startup(void) { sink = mid_a(1); } // before the first task runs

NI void scenario(const char *s)
{
	if (is(s, "read")) sink = mid_a(1);
	else if (is(s, "leaf")) sink = leaf(1) + 1;
	else if (is(s, "null")) { target = 0; sink = call_a(1); }
	else if (is(s, "wild")) { target = (fn)(0x60000000 | THUMB); sink = call_a(1); }
	else if (is(s, "float")) sink = (int)real_a(10);
	else if (is(s, "deep")) sink = deep(6);
	else if (is(s, "large")) sink = large(1);
	else if (is(s, "interrupt")) sink = wait_interrupt(1);
	else if (is(s, "nested")) { nested = 1; sink = wait_interrupt(1); }
	else if (is(s, "lazy")) { real = real * 1.5f + 1; sink = wait_interrupt(1); } // its frame has room for floating point
#if defined CORTEX_M && RTOS > RTTHREAD
	else if (is(s, "chained")) { nested = 2; real = real * 1.5f + 1; sink = spin_both(1); } // inner returns into interrupt: one frame for both
#endif
#ifdef SINCE11
	else if (is(s, "overflow")) sink = mid_a(1);
#elif RTOS == ZEPHYR
	else if (is(s, "runaway")) sink = descend(1);
#endif
	put("no fault\n"); flush();
}

#if RTOS == CHIBIOS
#define MASK "cpsid i"
#define UNMASK "cpsie i"
#elif RTOS == ZEPHYR && defined __riscv
#define MASK "csrc mstatus, 8"
#define UNMASK "csrs mstatus, 8"
#endif
#ifdef MASK // a switch is a call
void port_switch(struct task *to, struct task *from);
NI void yield(void) { __asm__ volatile(MASK ::: "memory"); struct task *old = current; pick(); port_switch(current, old); __asm__ volatile(UNMASK ::: "memory"); }
#else
NI void yield(void)
{
#ifdef CORTEX_M
	*(volatile uint32_t *)0xe000ed04 = 1 << 28; __asm__ volatile("dsb; isb" ::: "memory");
#elif defined __arm__
#if RTOS == 1
	__asm__ volatile("svc 0" ::: "memory");
#else
	__asm__ volatile("bl swap" ::: "memory", "lr", "cc");
#endif
#elif defined __mips__
	__asm__ volatile("syscall" ::: "memory");
#else
	__asm__ volatile("ecall" ::: "memory");
#endif
}
#endif
NI int receive(int x) { yield(); return x; }
NI int poll(int x) { volatile char b[32]; b[x] = 1; int r = receive(x + 1); return r + b[x]; }
static void net(void) { for (;;) sink = poll(3); }
NI int pause(int x) { volatile int b[6]; b[x] = x; WAIT(current); yield(); return b[x]; }
#ifdef SINCE11 // waits below the low end of its stack
NI int sunk(word low, int x) { volatile int b[6]; b[x & 3] = x; int r = (word)b > low + 24 ? sunk(low, x + 1) : pause(x & 3); return r + b[x & 3]; }
static void logger(void) { for (;;) sink = is(command, "overflow") ? sunk((word)current->stack, 2) : pause(2); }
#else
static void logger(void) { for (;;) sink = pause(2); }
#endif
NI float count_b(float x) { for (volatile int i = 0; i < 1000; i++) x = x * 1.5f + real; return x; }
NI int count_a(int x) { float r = count_b(x + 1); real = r; return (int)r + 1; }
static void busy(void) { for (;;) sink = count_a(1); }
static void crash(void) { while (ticks < 20) yield(); scenario(command); for (;;) {} }
static void idle(void) { for (;;) sink++; }

// ---- reports

struct fault { word pc, lr, sp, regs[32], frame, psp, ret, cfsr, hfsr, bfar, cause, value; };

static void rows(word at, unsigned n, const char *prefix, const char *mark)
{
	for (unsigned i = 0; i < n && at + 4 * W <= (word)__ram_end; i++, at += 4 * W) {
		put(prefix); full(at); put(":");
		for (unsigned k = 0; k < 4; k++) { put(mark); full(((word *)at)[k]); }
		put("\n");
	}
}
static void reg(const char *before, word v, const char *after) { put(before); full(v); put(after); }

#ifdef CORTEX_M
static void report(struct fault *f)
{
	word *r = f->regs, psr = ((word *)f->frame)[7];
	if (is(form, "cmbacktrace")) {
		put("Firmware name: fw, hardware version: 1, software version: 2\n");
		put(f->ret & 4 ? "Fault on thread crash\n===== Thread stack information =====\n" : "Fault on interrupt or bare metal(no OS) environment\n===== Main stack information =====\n");
		word sp = f->frame + (f->ret & 16 ? 32 : 104); // the alignment word is not looked at
		for (unsigned i = 0; i < 64 && sp + 4 * i < (word)__ram_end; i++) { reg("  addr: ", sp + 4 * i, "    data: "); full(((word *)sp)[i]); put("\n"); }
		put("====================================\n=================== Registers information ====================\n");
		reg("  R0 : ", r[0], "  "); reg("R1 : ", r[1], "  "); reg("R2 : ", r[2], "  "); reg("R3 : ", r[3], "\n");
		reg("  R12: ", r[12], "  "); reg("LR : ", f->lr, "  "); reg("PC : ", f->pc, "  "); reg("PSR: ", psr, "\n");
		put("==============================================================\nShow more call stack info by run: addr2line -e fw.elf -afpiC "); full(f->pc); put(" ");
		for (unsigned i = 0; i < 120 && sp + 4 * i < (word)__ram_end; i++) { word v = ((word *)sp)[i]; if (v & 1 && v > 0x100 && v < 0x8000) { full(v & ~1u); put(" "); } }
		put("\n");
	} else if (is(form, "zephyr")) {
		put("E: ***** BUS FAULT *****\nE:   Precise data bus error\n"); reg("E:   BFAR Address: 0x", f->bfar, "\n");
		reg("E: r0/a1:  0x", r[0], "  "); reg("r1/a2:  0x", r[1], "  "); reg("r2/a3:  0x", r[2], "\n"); reg("E: r3/a4:  0x", r[3], " "); reg("r12/ip:  0x", r[12], " "); reg("r14/lr:  0x", f->lr, "\n");
		reg("E:  xpsr:  0x", psr, "\n"); for (int i = 4; i < 12; i++) { put("E: r"); dec(i); put("/v"); dec(i - 3); reg(":  0x", r[i], "\n"); }
		reg("E: EXC_RETURN: 0x", f->ret, "\n"); reg("E: Faulting instruction address (r15/pc): 0x", f->pc, "\n");
		put("E: >>> ZEPHYR FATAL ERROR 25: Unknown error on CPU 0\nE: Current thread: 0x20000000 (crash)\nE: Halting system\n");
	} else if (is(form, "nuttx")) {
		put("arm_hardfault: PANIC!!! Hard Fault!:\nup_assert: Assertion failed at file:armv7-m/arm_hardfault.c line: 135 task: crash\nup_registerdump: R0:");
		for (int i = 0; i < 8; i++) reg(" ", r[i], "");
		put("\nup_registerdump: R8:");
		for (int i = 8; i < 13; i++) reg(" ", r[i], "");
		reg(" ", f->sp, " "); reg("", f->lr, " "); reg("", f->pc, "\n"); reg("up_registerdump: xPSR: ", psr, " PRIMASK: 00000000 CONTROL: 00000000\n"); reg("up_registerdump: EXC_RETURN: ", f->ret, "\n");
		rows(f->sp & ~15u, 24, "up_stackdump: ", " ");
	} else if (is(form, "rtthread")) {
		reg("psr: 0x", psr, "\n"); for (int i = 0; i < 13; i++) { put("r"); put(i < 10 ? "0" : ""); dec(i); reg(": 0x", r[i], "\n"); }
		reg(" lr: 0x", f->lr, "\n"); reg(" pc: 0x", f->pc, "\nhard fault on thread: crash\n\n"); put("bus fault:\nSCB_CFSR_BFSR:0x"); hex(f->cfsr >> 8, 2); put(" PRECISERR\n");
	} else if (is(form, "mbed")) {
		put("++ MbedOS Fault Handler ++\n\nFaultType: HardFault\n\nContext:\n"); for (int i = 0; i < 13; i++) { put("R"); put(i < 10 ? "   " : "  "); dec(i); reg(": ", r[i], "\n"); }
		reg("SP   : ", f->sp, "\n"); reg("LR   : ", f->lr, "\n"); reg("PC   : ", f->pc, "\n"); reg("xPSR : ", psr, "\n"); reg("HFSR : ", f->hfsr, "\n"); reg("BFAR : ", f->bfar, "\n\n-- MbedOS Fault Handler --\n");
	} else if (is(form, "words")) {
		put("[Hard fault handler]\n"); for (int i = 0; i < 4; i++) { put("R"); dec(i); reg(" = ", r[i], "\n"); }
		reg("R12 = ", r[12], "\n"); reg("LR [R14] = ", f->lr, "  subroutine call return address\n"); reg("PC [R15] = ", f->pc, "  program counter\n"); reg("PSR = ", psr, "\n"); reg("BFAR = ", f->bfar, "\n"); reg("CFSR = ", f->cfsr, "\n");
	} else { // SP as handlers print it: behind a basic frame, whatever was pushed
		reg("HardFault: exc_return ", f->ret, " "); reg("CFSR ", f->cfsr, " "); reg("HFSR ", f->hfsr, " "); reg("BFAR ", f->bfar, "\n");
		for (int i = 0; i < 4; i++) { put("R"); dec(i); reg(" ", r[i], " "); } reg("\nR12 ", r[12], " "); reg("LR ", f->lr, " "); reg("PC ", f->pc, " "); reg("PSR ", psr, "\n"); reg("SP ", f->frame + 32, " "); reg("PSP ", f->psp, "\n");
		rows(f->frame, 40, "", " "); put("END OF REPORT\n");
	}
}
#elif defined __arm__
static void report(struct fault *f)
{
	word *r = f->regs;
	if (is(form, "zephyr")) {
		put("E: ***** DATA ABORT *****\n"); reg("E: Permission Fault @ 0x", f->bfar, "\n");
		reg("E: r0/a1:  0x", r[0], "  "); reg("r1/a2:  0x", r[1], "  "); reg("r2/a3:  0x", r[2], "\n"); reg("E: r3/a4:  0x", r[3], " "); reg("r12/ip:  0x", r[12], " "); reg("r14/lr:  0x", f->lr, "\n");
		reg("E:  xpsr:  0x", f->ret, "\n"); reg("E: Faulting instruction address (r15/pc): 0x", f->pc, "\n");
		put("E: >>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0\nE: Current thread: 0x20000000 (crash)\nE: Halting system\n");
	} else if (is(form, "nuttx")) {
		reg("arm_dataabort: Data abort. PC: ", f->pc, " "); reg("DFAR: ", f->bfar, " "); reg("DFSR: ", f->cfsr, "\n"); put("up_assert: Assertion failed at file:armv7-a/arm_dataabort.c line: 111 task: crash\n");
		for (int i = 0; i < 12; i += 4) { put("arm_registerdump: "); for (int k = i; k < i + 4; k++) if (k == 7) reg("FP: ", r[7], "\n"); else { put(k == 9 ? "SB" : k == 10 ? "SL" : "R"); if (k != 9 && k != 10) dec(k); reg(": ", r[k], k % 4 == 3 ? "\n" : " "); } }
		reg("arm_registerdump: IP: ", r[12], " "); reg("SP: ", f->sp, " "); reg("LR: ", f->lr, "  "); reg("PC: ", f->pc, "\n"); reg("arm_registerdump: CPSR: ", f->ret, "\n"); rows(f->sp & ~15u, 24, "arm_stackdump: ", " ");
	} else {
		put("abort:"); for (int i = 0; i < 13; i++) { put(i % 4 ? " r" : "\nr"); dec(i); reg(":0x", r[i], ""); }
		reg("\nsp :0x", f->sp, " "); reg("lr :0x", f->lr, " "); reg("pc :0x", f->pc, " "); reg("cpsr:0x", f->ret, "\n"); reg("DFSR ", f->cfsr, " "); reg("DFAR ", f->bfar, "\n");
		rows(f->sp, 40, "", " "); put("END OF REPORT\n");
	}
}
#elif defined __mips__
static const char *const names[] = { "zero", "at", "v0", "v1", "a0", "a1", "a2", "a3", "t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7", "t8", "t9", "k0", "k1", "gp", "sp", "fp", "ra" };
static void report(struct fault *f)
{
	word *r = f->regs;
	if (is(form, "words")) {
		put("[exception handler]\n"); for (int i = 1; i < 32; i++) { put(names[i]); reg(" = ", r[i], "\n"); }
		reg("STATUS = ", f->ret, "\n"); reg("CAUSE = ", f->cause, "\n"); reg("BADVADDR = ", f->value, "\n"); reg("EPC = ", f->pc, "\n");
	} else {
		reg("exception: Cause ", f->cause, " "); reg("EPC ", f->pc, " "); reg("BadVAddr ", f->value, "\n");
		for (int i = 1; i < 32; i++) { put(names[i]); reg(" ", r[i], i % 4 == 3 ? "\n" : "  "); }
		put("\n"); rows(f->sp, 40, "", " "); put("END OF REPORT\n");
	}
}
#else
static const char *const names[] = { "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6" };
static void upper(const char *s) { for (; *s; s++) { char b[2] = { *s >= 'a' ? *s - 32 : *s, 0 }; put(b); } }
static void report(struct fault *f)
{
	word *r = f->regs;
	if (is(form, "esp")) {
		put("Guru Meditation Error: Core  0 panic'ed (Load access fault). Exception was unhandled.\n\nCore  0 register dump:\n");
		reg("MEPC    : 0x", f->pc, "  "); for (int i = 1; i < 32; i++) { upper(names[i]); put(i == 8 ? "/FP   : 0x" : i >= 26 && i < 28 ? "     : 0x" : "      : 0x"); full(r[i]); put(i % 4 == 3 ? "  \n" : "  "); }
		reg("\nMCAUSE  : 0x", f->cause, "  "); reg("MTVAL   : 0x", f->value, "  \n\nStack memory:\n"); rows(f->sp, 40, "", " 0x"); put("\nELF file SHA256: 0123456789abcdef\n");
	} else if (is(form, "zephyr")) {
		put("E:  mcause: "); dec(f->cause); put(", Load access fault\n"); put("E:   mtval: "); full(f->value); put("\n");
		for (int i = 10; i < 18; i++) { put("E:      "); put(names[i]); reg(": ", r[i], "\n"); } reg("E:      sp: ", f->sp, "\n"); reg("E:      ra: ", f->lr, "\n"); reg("E:    mepc: ", f->pc, "\n"); put("E: mstatus: 00001880\n");
		for (int i = 8; i < 28; i += i == 9 ? 9 : 1) { put("E:      "); put(names[i]); reg(": ", r[i], "\n"); } put("E: >>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0\nE: Current thread: 0x80000000 (crash)\n");
	} else if (is(form, "nuttx")) {
		reg("riscv_exception: EXCEPTION: Load access fault. MCAUSE: ", f->cause, ", "); reg("EPC: ", f->pc, ", "); reg("MTVAL: ", f->value, "\n"); put("dump_assert_info: Assertion failed panic: at file: common/riscv_exception.c:135 task: crash process: Kernel\n"); reg("up_dump_register: EPC: ", f->pc, "\n");
		for (int i = 1; i < 32; i++) { put("up_dump_register: "); upper(names[i]); reg(": ", r[i], "\n"); } rows(f->sp, 40, "stack_dump: 0x", " ");
	} else if (is(form, "rvbacktrace")) {
		put("trap: mcause "); dec(f->cause); reg(" mepc ", f->pc, "\n"); for (int i = 1; i < 32; i++) { put("x"); dec(i); reg(" ", r[i], i % 4 == 3 ? "\n" : "  "); }
		put("\n---- RV_Backtrace Call Frame Start: ----\n------------------------------Thread: crash backtrace------------------------------\n"); unsigned n = 0;
		for (word *p = (word *)f->sp; (word)p < (word)__ram_end && n < 12; p++) if (*p >= (word)0x80000000u && *p < (word)__data_start && !(*p & 1)) { put("["); dec(n++); reg("]Stack interval :[0x", (word)p, " - 0x"); reg("", (word)(p + 4), "]  ra 0x"); reg("", *p, " pc 0x"); reg("", *p - 4, "\n"); }
		put("End of stack backtracking\n---- RV_Backtrace Call Frame End:----\n");
	} else {
		put("trap: mcause "); dec(f->cause); reg(" mepc ", f->pc, " "); reg("mtval ", f->value, "\n"); for (int i = 1; i < 32; i++) { put("x"); dec(i); reg(" ", r[i], i % 4 == 3 ? "\n" : "  "); } put("\n\n"); rows(f->sp, 40, "", " "); put("END OF REPORT\n");
	}
}
#endif

NI void stop(struct fault *f)
{
	report(f); flush();
#ifdef __mips__
	word file = uhi(2, (word)"ram.bin", 0x601, 0644);
	uhi(5, file, (word)__ram_start, (word)(__ram_end - __ram_start)); uhi(3, file, 0, 0); uhi(1, 0, 0, 0);
#else
	word open[3] = { (word)"ram.bin", 5, 7 }; word file = host(1, open); word write[3] = { file, (word)__ram_start, (word)(__ram_end - __ram_start) };
	word end[2] = { 0x20026, 0 }; // 32-bit: the reason itself
	host(5, write); host(2, &file); host(0x18, W == 8 ? (void *)end : (void *)end[0]);
#endif
	for (;;) {}
}

static void start(void)
{
	char *s = command, *words[3] = { command }; unsigned n = 1;
#ifdef __mips__
	for (n = 0; n < 3; n++) { words[n] = s; uhi(11, n, (word)s, 0); while (*s++) {} }
#else
	struct { char *p; word n; } arg = { command, sizeof command - 1 }; host(0x15, &arg);
	for (; *s; s++) if (*s == ' ') { *s = 0; if (n < 3) words[n++] = s + 1; }
#endif
	if (n == 3) form = words[2];
	char *d = command; for (s = words[n > 1 ? 1 : 0]; (*d = *s); d++, s++) {}
	if (is(command, "startup")) startup();
	create("idle", idle, 400); create("net", net, 512 * W / 4); create("log", logger, 512 * W / 4); create("busy", busy, 640 * W / 4); create("crash", crash, 2048 * W / 4);
	current = tasks[0];
#if RTOS > RTTHREAD
	switched(current);
#endif
}
