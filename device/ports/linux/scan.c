#define _GNU_SOURCE
#include "scan.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "modules.h"

enum { MOST = 512, PAGE = 4096 };

const struct bs_world bs_linux_guessing_world = {bs_linux_table_at, 0, bs_linux_caught, 0, bs_linux_guess, 0, 0, 0, 0};

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
static int candidate(const struct bs_world *w, bs_word at, struct bs_regs *regs)
{
	const struct bs_linux_module *m;
	bs_word word;

	if (!bs_load(w, at, &word))
		return 0;
	m = bs_linux_module_at(word);
	if (!m || !m->table || !behind_call(m, word))
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

/* readable tells whether a page can be read: the kernel reads a set of signals there before it looks at
 * what is to be done with them, which is nothing that there is. */
static int readable(bs_word page)
{
	int before = errno, faulted;

	faulted = syscall(SYS_rt_sigprocmask, -1, page, 0, _NSIG / 8) != 0 && errno == EFAULT;
	errno = before;
	return !faulted;
}

int bs_linux_guess(void *context, const struct bs_world *w, struct bs_regs *regs)
{
	const struct bs_linux_module *m = bs_linux_module_at(regs->pc - !regs->exact);
	bs_word at = regs->r[BS_SP] & ~(bs_word)(BS_WORD - 1);
	struct bs_regs frame;
	int i;

	(void)context;
	if (!m || m->table || !(regs->known >> BS_SP & 1))
		return 0;
	for (i = 0; i < MOST; i++, at += BS_WORD) {
		if (at % PAGE == 0 && !readable(at))
			return 0;
		if (candidate(w, at, &frame)) {
			*regs = frame;
			return 1;
		}
	}
	return 0;
}
