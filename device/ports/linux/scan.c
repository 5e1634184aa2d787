#include "scan.h"

#include <string.h>

#include "modules.h"

enum { MOST = 512 };

int bs_linux_behind_call(uintptr_t pc, uintptr_t low, uintptr_t high)
{
	const uint8_t *code = (const uint8_t *)pc;
	uint32_t word;
	uint16_t half;

	if (pc < low || pc - low < 8 || pc > high)
		return 0;
#if defined(__x86_64__) || defined(__i386__)
	(void)word, (void)half;
	return code[-5] == 0xe8 || (code[-2] == 0xff && (code[-1] & 0x38) == 0x10) || (code[-3] == 0xff && (code[-2] & 0x38) == 0x10) ||
	       (code[-6] == 0xff && (code[-5] & 0x38) == 0x10);
#elif defined(__mips__)
	memcpy(&word, code - 8, sizeof word);
	(void)half;
	return pc % 4 == 0 && (word >> 26 == 3 || (word & 0xfc00003f) == 9 || word >> 16 == 0x0411);
#elif defined(__aarch64__)
	memcpy(&word, code - 4, sizeof word);
	(void)half;
	return pc % 4 == 0 && (word >> 26 == 0x25 || (word & 0xfffffc1f) == 0xd63f0000);
#elif defined(__arm__)
	code -= pc & 1;
	memcpy(&half, code - 2, sizeof half);
	memcpy(&word, code - 4, sizeof word);
	if (pc & 1)
		return (half & 0xff87) == 0x4780 || (word & 0xc000f800) == 0xc000f000;
	return pc % 4 == 0 && ((word & 0x0f000000) == 0x0b000000 || (word & 0x0ffffff0) == 0x012fff30);
#else /* RISC-V */
	memcpy(&word, code - 4, sizeof word);
	memcpy(&half, code - 2, sizeof half);
	return pc % 2 == 0 && ((word & 0xfff) == 0x0ef || (word & 0xfff) == 0x0e7 || ((half & 0xf07f) == 0x9002 && half >> 7 != 0x120));
#endif
}

/* behind_call tells whether an address in a module lies behind a call. */
static int behind_call(const struct bs_linux_module *m, bs_word pc)
{
	return m && bs_linux_behind_call((uintptr_t)pc, (uintptr_t)m->low, (uintptr_t)m->high);
}

/* leads_on tells whether the caller of a frame that may be there is there as well. */
static int leads_on(const struct bs_world *w, const struct bs_regs *frame)
{
	struct bs_world tables = *w;
	struct bs_regs next = *frame;
	enum bs_stop why;

	tables.guess = 0;
	if (!bs_step(&tables, &next, &why))
		return why == BS_ROOT;
#if BS_MACHINE == BS_ARM
	if (behind_call(bs_linux_module_at(next.pc), next.pc | 1))
		return 1;
#endif
	return next.exact || behind_call(bs_linux_module_at(next.pc), next.pc);
}

/* candidate lets regs be those of the caller that a word on the stack returns to. Return addresses lie at the
 * top of a frame; AArch64 has them at the bottom, behind the caller's frame pointer, which mostly
 * equals the stack pointer. */
static int candidate(const struct bs_world *w, bs_word at, bs_word word, struct bs_regs *regs)
{
	if (!behind_call(bs_linux_module_at(word), word))
		return 0;
	memset(regs, 0, sizeof *regs);
	regs->guessed = 1;
	regs->known = 1u << BS_SP;
	regs->pc = word;
	regs->r[BS_SP] = at + sizeof word;
#if BS_MACHINE == BS_ARM
	regs->pc &= ~(bs_word)1;
#elif BS_MACHINE == BS_AARCH64
	regs->known |= 1u << BS_FP;
	if (!bs_load(w, at - sizeof word, &regs->r[BS_FP]) || regs->r[BS_FP] <= at)
		return 0;
	regs->r[BS_SP] = regs->r[BS_FP];
#endif
	return leads_on(w, regs);
}

int bs_linux_guess(void *context, const struct bs_world *w, struct bs_regs *regs)
{
	bs_word at = regs->r[BS_SP] & ~(bs_word)(BS_WORD - 1);
	struct bs_regs frame;
	bs_word word;
	int i;

	(void)context;
	if (!(regs->known >> BS_SP & 1))
		return 0;
	for (i = 0; i < MOST && bs_load(w, at, &word); i++, at += BS_WORD) {
		if (candidate(w, at, word, &frame)) {
			*regs = frame;
			return 1;
		}
	}
	return 0;
}
