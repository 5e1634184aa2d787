// The port to Cortex-M: PendSV switches, SysTick preempts. Tasks run on the process stack.
#include "fw.c"

#define FLOATS(op) "tst lr, #16\n it eq\n " op " r0!, {s16-s31}\n"
#define KEEP // in the control block, which r2 points to
#define FETCH
#if RTOS == FREERTOS && __ARM_ARCH >= 8 // PSPLIM and LR first
#define SAVE FLOATS("vstmdbeq") "mrs r2, psplim\n mov r3, lr\n stmdb r0!, {r2-r11}\n"
#define LOAD "ldmia r0!, {r2-r11}\n msr psplim, r2\n mov lr, r3\n" FLOATS("vldmiaeq")
#elif RTOS == RTTHREAD && __ARM_ARCH >= 8 // secure context, LR, PSPLIM, CONTROL first
#define SAVE FLOATS("vstmdbeq") "stmdb r0!, {r4-r11}\n mov r2, #0\n mov r3, lr\n mrs r4, psplim\n mrs r5, control\n stmdb r0!, {r2-r5}\n"
#define LOAD "ldmia r0!, {r2-r5}\n mov lr, r3\n msr psplim, r4\n ldmia r0!, {r4-r11}\n" FLOATS("vldmiaeq")
#elif RTOS == FREERTOS && defined __ARM_FP
#define SAVE "tst lr, #16\n it eq\n vstmdbeq r0!, {s16-s31}\n stmdb r0!, {r4-r11, lr}\n"
#define LOAD "ldmia r0!, {r4-r11, lr}\n tst lr, #16\n it eq\n vldmiaeq r0!, {s16-s31}\n"
#elif RTOS == RTTHREAD && defined __ARM_FP
#define SAVE "tst lr, #16\n it eq\n vstmdbeq r0!, {s16-s31}\n stmdb r0!, {r4-r11}\n mov r4, #0\n tst lr, #16\n it eq\n moveq r4, #1\n str r4, [r0, #-4]!\n"
#define LOAD "ldmia r0!, {r3}\n ldmia r0!, {r4-r11}\n orr lr, lr, #16\n cmp r3, #0\n ittt ne\n bicne lr, lr, #16\n vldmiane r0!, {s16-s31}\n nopne\n"
#elif RTOS == THREADX && defined __ARM_FP
#define SAVE "stmdb r0!, {r4-r11}\n" FLOATS("vstmdbeq") "str lr, [r0, #-4]!\n"
#define LOAD "ldr lr, [r0], #4\n" FLOATS("vldmiaeq") "ldmia r0!, {r4-r11}\n"
#elif RTOS == THREADX || defined SINCE11
#define SAVE "stmdb r0!, {r4-r11}\n str lr, [r0, #-4]!\n"
#define LOAD "ldr lr, [r0], #4\n ldmia r0!, {r4-r11}\n"
#elif RTOS == RTX5 && defined __ARM_FP
#define SAVE "stmdb r0!, {r4-r11}\n" FLOATS("vstmdbeq")
#define LOAD FLOATS("vldmiaeq") "ldmia r0!, {r4-r11}\n"
#undef KEEP
#undef FETCH
#define KEEP "strb lr, [r2, #34]\n" // stack_frame
#define FETCH "ldrsb lr, [r2, #34]\n"
#elif RTOS == NUTTX && defined __ARM_FP // room for s16-s31 in any case
#define SAVE "add r2, r0, #32\n mrs r3, basepri\n mrs r12, control\n tst lr, #16\n ite eq\n vstmdbeq r0!, {s16-s31}\n subne r0, #64\n stmdb r0!, {r2-r12, lr}\n"
#define LOAD "ldmia r0!, {r2-r12, lr}\n tst lr, #16\n ite eq\n vldmiaeq r0!, {s16-s31}\n addne r0, #64\n msr basepri, r3\n"
#elif RTOS == NUTTX
#define SAVE "add r2, r0, #32\n mrs r3, basepri\n mrs r12, control\n stmdb r0!, {r2-r12, lr}\n"
#define LOAD "ldmia r0!, {r2-r12, lr}\n msr basepri, r3\n"
#elif RTOS == ZEPHYR // callee_saved lies right before the saved SP
#define SAVE
#define LOAD
#undef KEEP
#undef FETCH
#ifdef __ARM_FP
#define KEEP "add r3, r2, %0 - 32\n stmia r3, {r4-r11}\n strb lr, [r2, %2]\n tst lr, #16\n itt eq\n addeq r3, r2, %1\n vstmiaeq r3, {s16-s31}\n"
#define FETCH "add r3, r2, %0 - 32\n ldmia r3, {r4-r11}\n ldrsb lr, [r2, %2]\n tst lr, #16\n itt eq\n addeq r3, r2, %1\n vldmiaeq r3, {s16-s31}\n"
#else
#define KEEP "add r3, r2, %0 - 32\n stmia r3, {r4-r11}\n"
#define FETCH "add r3, r2, %0 - 32\n ldmia r3, {r4-r11}\n"
#endif
#define FURTHER , "i"(offsetof(struct task, floats)), "i"(offsetof(struct task, exc_return))
#else
#define SAVE "stmdb r0!, {r4-r11}\n"
#define LOAD "ldmia r0!, {r4-r11}\n"
#endif
#ifndef FURTHER
#define FURTHER
#endif
#if RTOS == CHIBIOS
#ifdef __ARM_FP
#define FRAME "104"
#define WHOLE 26
#define PUSH "push {r4-r11, lr}\n vpush {s16-s31}\n"
#define POP "vpop {s16-s31}\n pop {r4-r11, pc}\n"
#else
#define FRAME "32"
#define WHOLE 8
#define PUSH "push {r4-r11, lr}\n"
#define POP "pop {r4-r11, pc}\n"
#endif
__attribute__((naked)) void port_switch(struct task *to, struct task *from) { __asm__ volatile(PUSH "str sp, [r1, %0]\n ldr sp, [r0, %0]\n" POP ::"i"(SP_AT)); }
__attribute__((naked)) void thread_begin(void) { __asm__ volatile(".globl thread_start\n.thumb_func\nthread_start: cpsie i\n mov r0, r5\n blx r4\n 1: b 1b"); }
NI void preempt(void) { struct task *old = current; pick(); if (current != old) port_switch(current, old); __asm__ volatile(""); }
__attribute__((naked)) void switch_from_isr(void) { __asm__ volatile("bl preempt\n movw r3, #0xed04\n movt r3, #0xe000\n mov r2, #1 << 28\n str r2, [r3]\n cpsie i\n 1: b 1b"); }
// Takes its own frame, and that of switch_from_isr, off the stack: the interrupted code goes on.
__attribute__((naked)) void PendSV(void)
{
	__asm__ volatile("mrs r0, psp\n add r0, #" FRAME "\n msr psp, r0\n"
#ifdef __ARM_FP
		"movw r3, #0xef34\n movt r3, #0xe000\n ldr r2, [r3]\n bic r2, #1\n str r2, [r3]\n" // FPCCR.LSPACT
#endif
		"bx lr");
}
#else
__attribute__((naked)) void PendSV(void)
{
	__asm__ volatile("mrs r0, psp\n" SAVE "ldr r1, =current\n ldr r2, [r1]\n" KEEP "str r0, [r2, %0]\n push {r1, lr}\n bl pick\n pop {r1, lr}\n ldr r2, [r1]\n" FETCH "ldr r0, [r2, %0]\n" LOAD "msr psp, r0\n bx lr\n .ltorg" ::"i"(SP_AT) FURTHER);
}
#endif
void raise(int n)
{
	*(volatile uint8_t *)(0xe000e405 + n) = n ? 0x40 : 0x80;
	*(volatile uint32_t *)0xe000e100 = 32 << n; *(volatile uint32_t *)0xe000e200 = 32 << n; __asm__ volatile("dsb; isb" ::: "memory");
}
#if RTOS == CHIBIOS
void SysTick(void) // returns to switch_from_isr, with interrupts masked
{
	ticks++;
	__asm__ volatile("cpsid i");
	if (!(*(volatile uint32_t *)0xe000ed04 & 1 << 11)) { __asm__ volatile("cpsie i"); return; } // not the only handler
	word *psp; __asm__ volatile("mrs %0, psp" : "=r"(psp));
#ifdef __ARM_FP
	__asm__ volatile("vmrs r0, fpscr" ::: "r0"); // what is due is pushed before the frame moves
#endif
	psp -= WHOLE; psp[6] = (word)switch_from_isr & ~1u; psp[7] = 1 << 24;
	__asm__ volatile("msr psp, %0" ::"r"(psp));
}
#else
void SysTick(void) { ticks++; *(volatile uint32_t *)0xe000ed04 = 1 << 28; }
#endif

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
#if RTOS <= RTTHREAD
	__asm__ volatile("msr psp, %0\n mov r0, #2\n msr control, r0\n isb\n cpsie i\n bx %1" ::"r"(tasks[0]->stack + 92), "r"(idle) : "r0");
#elif RTOS == CHIBIOS // every frame is an extended one, with floating point
	__asm__ volatile("msr psp, %0\n mov r0, #2\n msr control, r0\n isb\n" POP ::"r"(tasks[0]->sp) : "r0");
#else // as in the first task's context
	word *top = (word *)((char *)tasks[0]->stack + 400);
	__asm__ volatile("msr psp, %0\n mov r0, #2\n msr control, r0\n isb\n mov lr, %2\n mov r9, #0x9000\n cpsie i\n bx %1" ::"r"(top), "r"(top[-2] | 1), "r"(top[-3]) : "r0", "lr");
#endif
}
__attribute__((section(".vectors"), used)) void *const vectors[16 + 32] = { __stack_end, Reset, Default, Fault, Fault, Fault, Fault, 0, 0, 0, 0, Default, Default, 0, PendSV, SysTick, [16 ... 20] = Default, [21] = interrupt, inner, [23 ... 47] = Default };
