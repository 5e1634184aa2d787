#include "tasks.h"

#if BS_MACHINE == BS_ARM
#include "../cortexm/exception.h"

int bs_freertos_task(const struct bs_world *world, bs_word top, enum bs_freertos_port port, struct bs_regs *regs)
{
	bs_word exc_return = 0xfffffffdu, at = top, frame;

	if (port >= BS_FREERTOS_CM0) { /* EXC_RETURN is first, or behind PSPLIM, or behind a secure context as well */
		at += 4u * (bs_word)(port - BS_FREERTOS_CM0);
		if (port > BS_FREERTOS_CM33_TZ || !bs_load(world, at, &exc_return))
			return 0;
		at += 4;
	}
	frame = at + 32;
	if (port == BS_FREERTOS_CM4F) {
		if (!bs_load(world, frame, &exc_return))
			return 0;
		frame += 4;
	}
	return bs_cortexm_task(world, at, frame + (exc_return & 16 ? 0 : 64), exc_return, regs);
}

#elif BS_MACHINE == BS_RISCV

#if defined(__riscv_flen)
enum { FLOATS = 33 * __riscv_flen / 8 };
#else
enum { FLOATS = 0 };
#endif

/* is_status tells whether a word of a context is mstatus of a task, which is in machine mode: MPP, and no more than MPIE, FS, VS, XS. */
static int is_status(const struct bs_world *world, bs_word at)
{
	bs_word v;

	return bs_load(world, at, &v) && (v & 0x7fff997f) == 0x1800;
}

int bs_freertos_task(const struct bs_world *world, bs_word top, enum bs_freertos_port port, struct bs_regs *regs)
{
	static const uint8_t slot[15] = {0, 255, 1, 4, 5, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}; /* from x1 on */
	bs_word at = top + BS_WORD, status, words = 29;
	int i, first = is_status(world, at), last = is_status(world, at + 28 * BS_WORD), nested = is_status(world, at + 29 * BS_WORD);

	if (!bs_load(world, top, &regs->pc) || (port != BS_FREERTOS_RISCV && port != BS_FREERTOS_RISCV_11_3))
		return 0;
	if (first != (last || nested)) /* the main branch has called itself 11.1 since it saves as 11.3 does */
		port = first ? BS_FREERTOS_RISCV_11_3 : BS_FREERTOS_RISCV;
	if (port == BS_FREERTOS_RISCV_11_3) {
		if (!bs_load(world, at, &status))
			return 0;
		at += BS_WORD + ((status & 0x6000) == 0x6000 ? (bs_word)FLOATS : 0u);
	} else { /* mstatus is the last word, since 10.5 behind the nesting of critical sections */
		words += !last;
	}
	for (i = 0; i < 15; i++)
		if (slot[i] != 255 && !bs_load(world, at + slot[i] * (bs_word)BS_WORD, &regs->r[i]))
			return 0;
	regs->r[BS_SP] = at + words * BS_WORD;
	regs->known = 0x7fff;
	regs->exact = 1;
	regs->guessed = 0;
	return 1;
}
#endif
