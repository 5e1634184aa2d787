#include "fault.h"

/* Armv6-M pushes low registers only: r4 to r7, r10, r11, r8, r9 lie from the stack pointer up. */
__attribute__((naked)) void HardFault_Handler(void)
{
	__asm__ volatile("mov r0, lr\n\t"
			 "mov r1, sp\n\t"
			 "mov r2, r8\n\tmov r3, r9\n\tpush {r2, r3}\n\t"
			 "mov r2, r10\n\tmov r3, r11\n\tpush {r2, r3}\n\t"
			 "push {r4-r7}\n\t"
			 "mov r2, sp\n\t"
			 "bl bs_fault\n\t"
			 "b .");
}

void bs_fault(uint32_t exc_return, uint32_t msp, const uint32_t *pushed)
{
	enum { MAX_FRAMES = 32 };
	static bs_word pcs[MAX_FRAMES];
	static const struct bs_world world = {0, 0, 0, bs_cortexm_exception, 0, 0, 0, 0, 0};
	static struct bs_regs regs; /* the stack may be what has failed */
	enum bs_stop why;
	int i;

	for (i = 0; i < 4; i++)
		regs.r[4 + i] = pushed[i];
	regs.r[10] = pushed[4];
	regs.r[11] = pushed[5];
	regs.r[8] = pushed[6];
	regs.r[9] = pushed[7];
	regs.r[BS_SP] = msp;
	regs.known = 0x0ff0 | 1u << BS_SP;
	regs.pc = exc_return;
	if (bs_cortexm_exception(0, &world, &regs))
		bs_print(pcs, bs_unwind(&world, &regs, pcs, MAX_FRAMES, &why), backsight_table, bs_put, 0);
	bs_end();
}
