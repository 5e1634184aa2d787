/* What the processor pushes when it takes an exception (DDI 0403, B1.5.6 to B1.5.8):
 *
 *     r0 r1 r2 r3 r12 lr pc xpsr
 *     s0 to s15, fpscr, a word      EXC_RETURN bit 4 clear
 *     a word                        xpsr bit 9
 */
#include "exception.h"
#include "../hooks.h"

int bs_cortexm_exception(void *context, const struct bs_world *w, struct bs_regs *regs)
{
	static const uint8_t number[6] = {0, 1, 2, 3, 12, 14};
	bs_word value = regs->pc, at = regs->r[BS_SP], xpsr, pc;
	unsigned i;

	if ((value & 0xffffff80u) != 0xffffff80u || value >= 0xfffffffeu)
		return 0;
	if (value & 4) { /* on the process stack */
		if (context)
			at = *(const bs_word *)context;
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
		else
			__asm__ volatile("mrs %0, psp" : "=r"(at));
#else
		else
			return 0;
#endif
	}
	if (!bs_load(w, at + 24, &pc) || !bs_load(w, at + 28, &xpsr))
		return 0;
	for (i = 0; i < 6; i++) {
		if (!bs_load(w, at + 4 * (i < 5 ? i : 5u), &regs->r[number[i]]))
			return 0;
		regs->known |= (uint16_t)(1u << number[i]);
	}
	regs->r[BS_SP] = at + ((value & 16) ? 32u : 104u) + ((xpsr & 0x200) ? 4u : 0u);
	regs->known |= (uint16_t)(1u << BS_SP);
	regs->pc = pc & ~(bs_word)1;
	regs->exact = 1;
	return 1;
}

int bs_cortexm_task(const struct bs_world *world, bs_word saved, bs_word frame, bs_word exc_return, struct bs_regs *regs)
{
	bs_word xpsr;
	int i;

	if (!bs_load(world, frame + 28, &xpsr) || (xpsr & 0x010001ff) != 0x01000000) /* Thumb, in no exception */
		return 0;
	for (i = 4; i < 12; i++, saved += 4)
		if (!bs_load(world, saved, &regs->r[i]))
			return 0;
	regs->known = 0x0ff0 | 1u << BS_SP;
	regs->r[BS_SP] = frame;
	regs->pc = exc_return & ~(bs_word)4; /* the frame is at SP, wherever the process stack pointer is now */
	regs->guessed = 0;
	return bs_cortexm_exception(0, world, regs);
}

/* called tells whether a call is in front of a return address: BL, or BLX with a register. */
static int called(bs_word ra)
{
	const uint16_t *code = (const uint16_t *)(uintptr_t)(ra & ~(bs_word)1);

	return (code[-1] & 0xff87) == 0x4780 || ((code[-2] & 0xf800) == 0xf000 && (code[-1] & 0xd000) == 0xd000);
}

int bs_cortexm_guess(const struct bs_world *world, struct bs_regs *regs)
{
	enum { WORDS = 256 };
	static struct bs_regs try;
	bs_word at = regs->r[BS_SP] & ~(bs_word)3, ra;
	enum bs_stop why;
	int i;

	if (bs_ram_high && at < (bs_word)(uintptr_t)bs_ram_low) /* the stack has run through all RAM */
		at = (bs_word)(uintptr_t)bs_ram_low;
	for (i = 0; i < WORDS; i++, at += 4) {
		if (!bs_load(world, at, &ra) || !(ra & 1) || ra < 4)
			continue;
		try.pc = ra & ~(bs_word)1;
		try.r[BS_SP] = at + 4;
		try.known = 1u << BS_SP;
		try.exact = 0;
		if (bs_step(world, &try, &why) && called(ra) && (bs_step(world, &try, &why) || why == BS_ROOT)) {
			regs->pc = ra & ~(bs_word)1;
			regs->r[BS_SP] = at + 4;
			regs->known = 1u << BS_SP;
			regs->guessed = 1;
			return 1;
		}
	}
	return 0;
}
