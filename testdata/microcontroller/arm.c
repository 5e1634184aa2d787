// The port to Cortex-M: PendSV switches, SysTick preempts. Tasks run on the process stack.
#include "fw.c"

#define FLOATS(op) "tst lr, #16\n it eq\n " op " r0!, {s16-s31}\n"
#if RTOS == 1 && __ARM_ARCH >= 8 // PSPLIM and LR first
#define SAVE FLOATS("vstmdbeq") "mrs r2, psplim\n mov r3, lr\n stmdb r0!, {r2-r11}\n"
#define LOAD "ldmia r0!, {r2-r11}\n msr psplim, r2\n mov lr, r3\n" FLOATS("vldmiaeq")
#elif RTOS == 2 && __ARM_ARCH >= 8 // secure context, LR, PSPLIM, CONTROL first
#define SAVE FLOATS("vstmdbeq") "stmdb r0!, {r4-r11}\n mov r2, #0\n mov r3, lr\n mrs r4, psplim\n mrs r5, control\n stmdb r0!, {r2-r5}\n"
#define LOAD "ldmia r0!, {r2-r5}\n mov lr, r3\n msr psplim, r4\n ldmia r0!, {r4-r11}\n" FLOATS("vldmiaeq")
#elif RTOS == 1 && defined __ARM_FP
#define SAVE "tst lr, #16\n it eq\n vstmdbeq r0!, {s16-s31}\n stmdb r0!, {r4-r11, lr}\n"
#define LOAD "ldmia r0!, {r4-r11, lr}\n tst lr, #16\n it eq\n vldmiaeq r0!, {s16-s31}\n"
#elif RTOS == 2 && defined __ARM_FP
#define SAVE "tst lr, #16\n it eq\n vstmdbeq r0!, {s16-s31}\n stmdb r0!, {r4-r11}\n mov r4, #0\n tst lr, #16\n it eq\n moveq r4, #1\n str r4, [r0, #-4]!\n"
#define LOAD "ldmia r0!, {r3}\n ldmia r0!, {r4-r11}\n orr lr, lr, #16\n cmp r3, #0\n ittt ne\n bicne lr, lr, #16\n vldmiane r0!, {s16-s31}\n nopne\n"
#else
#define SAVE "stmdb r0!, {r4-r11}\n"
#define LOAD "ldmia r0!, {r4-r11}\n"
#endif
__attribute__((naked)) void PendSV(void)
{
	__asm__ volatile("mrs r0, psp\n" SAVE "ldr r1, =current\n ldr r2, [r1]\n str r0, [r2, %0]\n push {r1, lr}\n bl pick\n pop {r1, lr}\n ldr r2, [r1]\n ldr r0, [r2, %0]\n" LOAD "msr psp, r0\n bx lr\n .ltorg" ::"i"(SP_AT));
}
void raise(int n)
{
	*(volatile uint8_t *)(0xe000e405 + n) = n ? 0x40 : 0x80;
	*(volatile uint32_t *)0xe000e100 = 32 << n; *(volatile uint32_t *)0xe000e200 = 32 << n; __asm__ volatile("dsb; isb" ::: "memory");
}
void SysTick(void) { ticks++; *(volatile uint32_t *)0xe000ed04 = 1 << 28; }

void caught(word *frame, word ret, word *r4)
{
	struct fault f = { .pc = frame[6], .lr = frame[5], .frame = (word)frame, .ret = ret, .cfsr = *(volatile word *)0xe000ed28, .hfsr = *(volatile word *)0xe000ed2c, .bfar = *(volatile word *)0xe000ed38 };
	__asm__ volatile("mrs %0, psp" : "=r"(f.psp));
	f.sp = (word)frame + (ret & 16 ? 32 : 104) + (frame[7] >> 9 & 1) * 4;
	for (int i = 0; i < 4; i++) f.regs[i] = frame[i];
	for (int i = 0; i < 8; i++) f.regs[4 + i] = r4[i];
	f.regs[12] = frame[4];
	stop(&f);
}
__attribute__((naked)) void Fault(void) { __asm__ volatile("tst lr, #4\n ite eq\n mrseq r0, msp\n mrsne r0, psp\n mov r1, lr\n push {r4-r11}\n mov r2, sp\n b caught"); }
void Default(void) { for (;;) {} }

void Reset(void)
{
	for (char *d = __data_start, *s = __data_load; d < __data_end;) *d++ = *s++;
	for (char *p = __bss_start; p < __bss_end;) *p++ = 0;
#ifdef __ARM_FP
	*(volatile uint32_t *)0xe000ed88 |= 0xf << 20; __asm__ volatile("dsb; isb");
#endif
	start();
	*(volatile uint32_t *)0xe000ed20 = 0xffff0000; // PendSV and SysTick last
	__asm__ volatile("cpsid i" ::: "memory"); // until the process stack is there
	*(volatile uint32_t *)0xe000e014 = 25000; *(volatile uint32_t *)0xe000e010 = 7;
	__asm__ volatile("msr psp, %0\n mov r0, #2\n msr control, r0\n isb\n cpsie i\n bx %1" ::"r"(tasks[0]->stack + 92), "r"(idle) : "r0");
}
__attribute__((section(".vectors"), used)) void *const vectors[16 + 32] = { __stack_end, Reset, Default, Fault, Fault, Fault, Fault, 0, 0, 0, 0, Default, Default, 0, PendSV, SysTick, [16 ... 20] = Default, [21] = interrupt, inner, [23 ... 47] = Default };
