/* What xPortPendSVHandler has saved, from pxTopOfStack up: r4 to r11; with floating point
 * EXC_RETURN and, if its bit 4 is clear, s16 to s31; then what the processor has pushed. */
#include "tasks.h"

int bs_freertos_task(const struct bs_world *world, bs_word top, int fpu, struct bs_regs *regs)
{
	bs_word exc_return = 0xfffffffdu, at = top;
	int i;

	for (i = 4; i < 12; i++, at += 4)
		if (!bs_load(world, at, &regs->r[i]))
			return 0;
	if (fpu) {
		if (!bs_load(world, at, &exc_return))
			return 0;
		at += (exc_return & 16) ? 4u : 4u + 64u;
	}
	regs->known = 0x0ff0 | 1u << BS_SP;
	regs->r[BS_SP] = at;
	regs->pc = exc_return & ~(bs_word)4; /* the frame is at SP, wherever the process stack pointer is now */
	return bs_cortexm_exception(0, world, regs);
}
