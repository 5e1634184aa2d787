#include "threads.h"

#include "../cortexm/exception.h"

int bs_threadx_task(const struct bs_world *world, bs_word top, struct bs_regs *regs)
{
	bs_word exc_return, at = top + 4;
#if !defined(__thumb2__)
	bs_word swap;
	int i;
#endif

	if (!bs_load(world, top, &exc_return))
		return 0;
	at += exc_return & 16 ? 0 : 64;
	if (!bs_cortexm_task(world, at, at + 32, exc_return, regs))
		return 0;
#if !defined(__thumb2__)
	for (i = 4; i < 8; i++) {
		swap = regs->r[i];
		regs->r[i] = regs->r[i + 4];
		regs->r[i + 4] = swap;
	}
#endif
	return 1;
}
