// The port to RISC-V: one trap entry that saves the context on the task's stack and goes on
// on the interrupt stack. The task's SP is kept in its control block, as FreeRTOS does, or in
// s0, as RT-Thread does. ecall and the machine timer switch tasks, the software interrupt runs
// a handler.
#include "fw.c"

#if __riscv_xlen == 64
#define S "sd "
#define L "ld "
#define Z "*8"
#else
#define S "sw "
#define L "lw "
#define Z "*4"
#endif
#if RTOS == FREERTOS // FreeRTOS: pc x1 x5–x31 nesting mstatus; since 11.3 mstatus is the second
#define SIZE "31"
#ifdef SINCE11
#define STATUS "1"
#define NESTING "30"
#define UP "+1" Z
#else
#define STATUS "30"
#define NESTING "29"
#define UP
#endif
#define EACH(op) op "x1,1" Z UP "(sp)\n" op "x6,3" Z UP "(sp)\n" op "x7,4" Z UP "(sp)\n" op "x8,5" Z UP "(sp)\n" op "x9,6" Z UP "(sp)\n" op "x10,7" Z UP "(sp)\n" op "x11,8" Z UP "(sp)\n" op "x12,9" Z UP "(sp)\n" op "x13,10" Z UP "(sp)\n" op "x14,11" Z UP "(sp)\n" op "x15,12" Z UP "(sp)\n" op "x16,13" Z UP "(sp)\n" op "x17,14" Z UP "(sp)\n" op "x18,15" Z UP "(sp)\n" op "x19,16" Z UP "(sp)\n" op "x20,17" Z UP "(sp)\n" op "x21,18" Z UP "(sp)\n" op "x22,19" Z UP "(sp)\n" op "x23,20" Z UP "(sp)\n" op "x24,21" Z UP "(sp)\n" op "x25,22" Z UP "(sp)\n" op "x26,23" Z UP "(sp)\n" op "x27,24" Z UP "(sp)\n" op "x28,25" Z UP "(sp)\n" op "x29,26" Z UP "(sp)\n" op "x30,27" Z UP "(sp)\n" op "x31,28" Z UP "(sp)\n"
#define T0 "2" Z UP
#define KEEP
#define KEEP2 " " S "zero," NESTING Z "(sp)\n la t1,current\n" L "t1,0(t1)\n" S "sp,0(t1)\n"
#else // RT-Thread: epc ra mstatus gp tp t0 … NuttX: epc x1 … x31 mstatus
#if RTOS == NUTTX
#define SIZE "36"
#define STATUS "32"
#define SP_TOO " addi x5,sp," SIZE Z "\n" S "x5,2" Z "(sp)\n"
#else
#define SIZE "32"
#define STATUS "2"
#endif
#define EACH(op) op "x1,1" Z "(sp)\n" op "x6,6" Z "(sp)\n" op "x7,7" Z "(sp)\n" op "x8,8" Z "(sp)\n" op "x9,9" Z "(sp)\n" op "x10,10" Z "(sp)\n" op "x11,11" Z "(sp)\n" op "x12,12" Z "(sp)\n" op "x13,13" Z "(sp)\n" op "x14,14" Z "(sp)\n" op "x15,15" Z "(sp)\n" op "x16,16" Z "(sp)\n" op "x17,17" Z "(sp)\n" op "x18,18" Z "(sp)\n" op "x19,19" Z "(sp)\n" op "x20,20" Z "(sp)\n" op "x21,21" Z "(sp)\n" op "x22,22" Z "(sp)\n" op "x23,23" Z "(sp)\n" op "x24,24" Z "(sp)\n" op "x25,25" Z "(sp)\n" op "x26,26" Z "(sp)\n" op "x27,27" Z "(sp)\n" op "x28,28" Z "(sp)\n" op "x29,29" Z "(sp)\n" op "x30,30" Z "(sp)\n" op "x31,31" Z "(sp)\n"
#define T0 "5" Z
#define KEEP " mv s0,sp\n"
#define KEEP2
#endif
#ifndef SP_TOO
#define SP_TOO
#endif

void raise(int n) { *(volatile uint32_t *)0x2000000 = 1; if (n) __asm__ volatile("csrs mstatus, 8" ::: "memory"); else __asm__ volatile("" ::: "memory"); }
static int handlers; // that run
static void later(void) { *(volatile uint64_t *)0x2004000 = *(volatile uint64_t *)0x200bff8 + 20000; }
#if RTOS == ZEPHYR
#include "riscv_zephyr.c"
#else
static const uint8_t slots[32] = {
#if RTOS == FREERTOS && defined SINCE11
	0, 2, 0, 0, 0, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
#elif RTOS == FREERTOS
	0, 1, 0, 0, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28
#else
	0, 1, 0, 0, 0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
#endif
};
word *trapped(word *sp)
{
	word cause, value; __asm__ volatile("csrr %0, mcause\n csrr %1, mtval" : "=r"(cause), "=r"(value));
	if (cause >> (8 * W - 1)) {
		if ((cause & 0xff) == 3) { *(volatile uint32_t *)0x2000000 = 0; if (handlers++) inner(); else interrupt(); return sp; }
		ticks++; later();
	} else if (cause == 11) {
		sp[0] += 4;
	} else {
		struct fault f = { .pc = sp[0], .lr = sp[slots[1]], .cause = cause, .value = value };
		for (int i = 1; i < 32; i++) f.regs[i] = slots[i] ? sp[slots[i]] : 0;
		__asm__ volatile("mv %0, gp\n mv %1, tp" : "=r"(f.regs[3]), "=r"(f.regs[4])); // the same everywhere
		f.sp = f.regs[2] = (word)sp + sizeof(word) * (RTOS == FREERTOS ? 31 : RTOS == NUTTX ? 36 : 32);
		stop(&f);
	}
	current->sp = sp; pick(); return current->sp;
}
// A trap out of a handler stays on the interrupt stack: mscratch is 0 there.
__asm__(".section .text.trap\n.balign 4\n.globl trap\n.type trap,@function\ntrap:\n addi sp,sp,-" SIZE Z "\n" S "x5," T0 "(sp)\n" SP_TOO EACH(S)
	" csrr t0,mepc\n" S "t0,0(sp)\n csrr t0,mstatus\n" S "t0," STATUS Z "(sp)\n mv a0,sp\n csrrw t0,mscratch,zero\n" KEEP " beqz t0,1f\n" KEEP2 " mv sp,t0\n1: call trapped\n mv sp,a0\n la t0,__stack_end\n csrw mscratch,t0\n"
	".globl resume\nresume:\n" L "t0,0(sp)\n csrw mepc,t0\n" L "t0," STATUS Z "(sp)\n csrw mstatus,t0\n" EACH(L) L "x5," T0 "(sp)\n addi sp,sp," SIZE Z "\n mret\n.size trap,.-trap\n");
#endif
extern char trap[], resume[];
void begin(void)
{
	for (char *p = __bss_start; p < __bss_end;) *p++ = 0;
	__asm__ volatile("csrw mtvec, %0\n csrw mscratch, zero" ::"r"(trap)); // one stack until tasks run
	start(); later();
#if RTOS == ZEPHYR
	__asm__ volatile("li s11, 0x9000");
#endif
	__asm__ volatile("csrw mscratch, %0\n li t0, 0x88\n csrw mie, t0\n mv sp, %1\n jr %2" ::"r"(__stack_end), "r"(tasks[0]->sp), "r"(resume) : "t0");
}
__asm__(".section .init\n.globl _start\n_start:\n.option push\n.option norelax\n la gp,__global_pointer$\n.option pop\n la sp,__stack_end\n li s0,0\n li t0,0x6000\n csrs mstatus,t0\n call begin\n");
