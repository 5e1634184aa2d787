#define _GNU_SOURCE
#include <ucontext.h>
#include <unistd.h>

#include "memory.h"
#include "modules.h"
#include "scan.h"

void bs_linux_signal(const void *context, struct bs_regs *regs)
{
	const ucontext_t *u = context;
	int i;

#if BS_MACHINE == BS_MIPS
	static const uint8_t number[16] = {16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 1, 15, 28, 29, 30, 31};
	for (i = 0; i < 16; i++)
		regs->r[i] = (bs_word)u->uc_mcontext.gregs[number[i]];
	regs->pc = (bs_word)u->uc_mcontext.pc & ~(bs_word)1;
#elif BS_MACHINE == BS_ARM
	for (i = 0; i < 16; i++)
		regs->r[i] = (&u->uc_mcontext.arm_r0)[i];
	regs->pc = regs->r[15] & ~(bs_word)1;
#elif BS_MACHINE == BS_AARCH64
	for (i = 0; i < 15; i++)
		regs->r[i] = u->uc_mcontext.regs[16 + i];
	regs->r[15] = u->uc_mcontext.sp;
	regs->pc = u->uc_mcontext.pc;
#elif BS_MACHINE == BS_RISCV
	static const uint8_t number[15] = {1, 2, 5, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};
	for (i = 0; i < 15; i++)
		regs->r[i] = u->uc_mcontext.__gregs[number[i]];
	regs->pc = u->uc_mcontext.__gregs[0];
#elif BS_MACHINE == BS_X86_64
	static const uint8_t number[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
					   REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
	for (i = 0; i < 16; i++)
		regs->r[i] = (bs_word)u->uc_mcontext.gregs[number[i]];
	regs->pc = (bs_word)u->uc_mcontext.gregs[REG_RIP];
#elif BS_MACHINE == BS_I386
	static const uint8_t number[8] = {REG_EAX, REG_ECX, REG_EDX, REG_EBX, REG_ESP, REG_EBP, REG_ESI, REG_EDI};
	for (i = 0; i < 8; i++)
		regs->r[i] = (bs_word)u->uc_mcontext.gregs[number[i]];
	regs->pc = (bs_word)u->uc_mcontext.gregs[REG_EIP];
#endif
	regs->known = 0xffff;
	regs->exact = 1;
	regs->guessed = 0;
}

struct line {
	char text[120];
	size_t used;
	int fd;
};

static void flush(struct line *l)
{
	if (l->used > 0 && write(l->fd, l->text, l->used) < 0)
		l->fd = -1;
	l->used = 0;
}

static void text(struct line *l, const char *s)
{
	for (; *s; s++) {
		if (l->used == sizeof l->text)
			flush(l);
		l->text[l->used++] = *s;
	}
}

/* digits writes a number in a base of 10 or 16, in at least so many digits. */
static void digits(struct line *l, bs_word v, unsigned base, int least)
{
	char s[2 * sizeof v + 8], *at = s + sizeof s;

	*--at = 0;
	for (; v != 0 || least > 0; v /= base, least--)
		*--at = "0123456789abcdef"[v % base];
	text(l, at);
}

/* frame writes a frame's line: its module, where in it, which build it is. */
static void frame(struct line *l, int n, bs_word pc, int exact, int guessed)
{
	const struct bs_linux_module *m = bs_linux_module_at(pc - !exact);
	int i;

	text(l, "#");
	digits(l, (bs_word)n, 10, 1);
	text(l, " ");
	if (m) {
		text(l, m->name);
		text(l, "+");
	}
	text(l, "0x");
	digits(l, m ? pc - m->bias : pc, 16, 1);
	for (i = 0; m && i < m->build_size && i < 4; i++) {
		if (i == 0)
			text(l, " ");
		digits(l, m->build[i], 16, 2);
	}
	if (n > 0 && exact)
		text(l, " interrupted");
	text(l, guessed ? " ?\n" : "\n");
	flush(l);
}

static void begin(struct line *l, int fd)
{
	l->used = 0;
	l->fd = fd;
	text(l, "backsight: report 1\n");
	flush(l);
}

static void end(struct line *l, enum bs_stop why)
{
	text(l, "backsight: end ");
	digits(l, why, 10, 1);
	text(l, "\n");
	flush(l);
}

void bs_linux_print(int fd, const bs_word *pcs, int n)
{
	struct line l;
	int i;

	begin(&l, fd);
	for (i = 0; i < n; i++)
		frame(&l, i, pcs[i], i == 0, 0);
	end(&l, BS_ROOT);
}

void bs_linux_report(int fd, const void *context)
{
	enum { MAX_PRINTED = 128 };
	struct bs_linux_pages pages = {0, 0};
	struct bs_world world = bs_linux_guessing_world;
	struct bs_regs regs;
	enum bs_stop why = BS_LIMIT;
	struct line l;
	int n;

	world.context = &pages;
	bs_linux_signal(context, &regs);
	begin(&l, fd);
	for (n = 0; n < MAX_PRINTED; n++) {
		frame(&l, n, regs.pc, regs.exact, regs.guessed);
		if (!bs_step(&world, &regs, &why))
			break;
		why = BS_LIMIT;
	}
	end(&l, why);
}
