#include "threads.h"

#if BS_MACHINE == BS_ARM
#include "../cortexm/exception.h"

int bs_zephyr_task(const struct bs_world *world, bs_word saved, struct bs_regs *regs)
{
	bs_word frame;

	return bs_load(world, saved + 32, &frame) && bs_cortexm_task(world, saved, frame, 0xfffffffdu, regs);
}

#elif BS_MACHINE == BS_RISCV

int bs_zephyr_task(const struct bs_world *world, bs_word saved, struct bs_regs *regs)
{
	int i;

	if (!bs_load(world, saved, &regs->r[BS_SP]) || !bs_load(world, saved + BS_WORD, &regs->pc))
		return 0;
	for (i = 0; i < 12; i++)
		if (!bs_load(world, saved + (bs_word)(2 + i) * BS_WORD, &regs->r[BS_FP + i]))
			return 0;
	regs->known = 0x7ff8 | 1u << BS_SP;
	regs->exact = 0; /* behind the call of the switch */
	regs->guessed = 0;
	return 1;
}
#endif
