#include "threads.h"

#if BS_MACHINE == BS_ARM
#include "../cortexm/exception.h"

int bs_rtthread_task(const struct bs_world *world, bs_word sp, enum bs_rtthread_port port, struct bs_regs *regs)
{
	bs_word exc_return = 0xfffffffdu, flag;

	if (port == BS_RTTHREAD_FLAG) {
		if (!bs_load(world, sp, &flag) || flag > 1)
			return 0;
		exc_return -= 16 * flag;
		sp += 4;
	} else if (port == BS_RTTHREAD_M33) {
		if (!bs_load(world, sp + 4, &exc_return))
			return 0;
		sp += 16;
	} else if (port != BS_RTTHREAD_M3)
		return 0;
	return bs_cortexm_task(world, sp, sp + 32 + (exc_return & 16 ? 0 : 64), exc_return, regs);
}

#elif BS_MACHINE == BS_RISCV

#if defined(__riscv_flen)
enum { FLOATS = 32 * __riscv_flen / 8 };
#else
enum { FLOATS = 0 };
#endif

int bs_rtthread_task(const struct bs_world *world, bs_word sp, enum bs_rtthread_port port, struct bs_regs *regs)
{
	static const uint8_t number[15] = {1, 0, 5, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};
	int i;

	if (port != BS_RTTHREAD_RISCV || !bs_load(world, sp, &regs->pc))
		return 0;
	for (i = 0; i < 15; i++)
		if (number[i] != 0 && !bs_load(world, sp + number[i] * (bs_word)BS_WORD, &regs->r[i]))
			return 0;
	regs->r[BS_SP] = sp + 32 * BS_WORD + FLOATS;
	regs->known = 0x7fff;
	regs->exact = 1;
	regs->guessed = 0;
	return 1;
}
#endif
