#define _GNU_SOURCE
#include "report.h"

#include <string.h>
#include <ucontext.h>

#include "memory.h"
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

/* The general registers by name, in the order in which the context has them. */
#if BS_MACHINE == BS_MIPS
static const char names[] = "zero at v0 v1 a0 a1 a2 a3 t0 t1 t2 t3 t4 t5 t6 t7 s0 s1 s2 s3 s4 s5 s6 s7 t8 t9 k0 k1 gp sp s8 ra";
#define FIRST(u) (u)->uc_mcontext.gregs
#elif BS_MACHINE == BS_ARM
static const char names[] = "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 sp lr pc cpsr";
#define FIRST(u) &(u)->uc_mcontext.arm_r0
#elif BS_MACHINE == BS_AARCH64
static const char names[] = "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x30";
#define FIRST(u) (u)->uc_mcontext.regs
#elif BS_MACHINE == BS_RISCV
static const char names[] = "pc ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6";
#define FIRST(u) (u)->uc_mcontext.__gregs
#elif BS_MACHINE == BS_X86_64
static const char names[] = "r8 r9 r10 r11 r12 r13 r14 r15 rdi rsi rbp rbx rdx rax rcx rsp rip";
#define FIRST(u) (u)->uc_mcontext.gregs
#elif BS_MACHINE == BS_I386
static const char names[] = "edi esi ebp esp ebx edx ecx eax";
#define FIRST(u) (u)->uc_mcontext.gregs + REG_EDI
#endif

static void register_value(struct bs_line *l, const char *name, bs_word v)
{
	bs_line_text(l, name);
	bs_line_text(l, ": ");
	bs_line_number(l, v, 16, 2 * BS_WORD);
}

void bs_report_registers(struct bs_line *l, const void *context)
{
	const ucontext_t *u = context;
	const char *at = names;
	char name[8];
	int i, k;

	for (i = 0; *at; i++) {
		for (k = 0; *at && *at != ' ' && k < (int)sizeof name - 1;)
			name[k++] = *at++;
		name[k] = 0;
		at += *at == ' ';
		register_value(l, name, (bs_word)(FIRST(u))[i]);
		bs_line_text(l, *at && i % 4 != 3 ? " " : "\n");
	}
#if BS_MACHINE == BS_MIPS
	register_value(l, "pc", (bs_word)u->uc_mcontext.pc);
#elif BS_MACHINE == BS_AARCH64
	register_value(l, "sp", u->uc_mcontext.sp);
	bs_line_text(l, " ");
	register_value(l, "pc", u->uc_mcontext.pc);
#elif BS_MACHINE == BS_I386
	register_value(l, "eip", (bs_word)u->uc_mcontext.gregs[REG_EIP]);
#endif
	if (BS_MACHINE == BS_MIPS || BS_MACHINE == BS_AARCH64 || BS_MACHINE == BS_I386)
		bs_line_text(l, "\n");
	bs_line_flush(l);
}

/* frame writes a frame's line: its module, where in it, which build it is, and its address. */
static void frame(struct bs_line *l, int n, const struct bs_regs *regs)
{
	const struct bs_linux_module *m = bs_linux_module_at(regs->pc - !regs->exact);
	const char *name;
	int i;

	bs_line_text(l, "#");
	bs_line_number(l, (bs_word)n, 10, 1);
	bs_line_text(l, " ");
	if (m) {
		name = strrchr(m->path, '/');
		bs_line_text(l, name ? name + 1 : m->path);
		bs_line_text(l, "+0x");
		bs_line_number(l, regs->pc - m->bias, 16, 1);
		bs_line_text(l, " ");
		for (i = 0; i < m->build_size && i < 4; i++)
			bs_line_number(l, m->build[i], 16, 2);
		bs_line_text(l, m->build_size ? " " : "");
	}
	bs_line_text(l, "0x");
	bs_line_number(l, regs->pc, 16, 1);
	bs_line_text(l, n > 0 && regs->exact ? " interrupted" : "");
	bs_line_text(l, regs->guessed ? " ?\n" : "\n");
	bs_line_flush(l);
}

void bs_report_begin(struct bs_line *l)
{
	bs_line_text(l, "backsight: report 1\n");
	bs_line_flush(l);
}

void bs_report_end(struct bs_line *l, enum bs_stop why)
{
	bs_line_text(l, "backsight: end ");
	bs_line_number(l, why, 10, 1);
	bs_line_text(l, "\n");
	bs_line_flush(l);
}

enum bs_stop bs_report_frames(struct bs_line *l, const void *context)
{
	enum { LINES = 128, FRAMES = 60000 };
	struct bs_linux_pages pages = {0, 0};
	struct bs_world world = bs_linux_guessing_world;
	struct bs_regs regs;
	enum bs_stop why;
	bs_word last;
	int n, lines = 0;

	world.context = &pages;
	bs_linux_signal(context, &regs);
	last = ~regs.pc;
	for (n = 0; n < FRAMES && lines < LINES; n++) {
		if (regs.pc != last) {
			frame(l, n, &regs);
			lines++;
		}
		last = regs.pc;
		if (!bs_step(&world, &regs, &why))
			return why;
	}
	if (lines < LINES)
		frame(l, n, &regs); /* how deep a recursion was followed */
	return BS_LIMIT;
}

void bs_linux_print(int fd, const bs_word *pcs, int n)
{
	struct bs_line l = {.fd = fd, .file = -1};
	struct bs_regs regs = {0};
	int i;

	bs_report_begin(&l);
	for (i = 0; i < n; i++) {
		regs.pc = pcs[i];
		regs.exact = i == 0;
		frame(&l, i, &regs);
	}
	bs_report_end(&l, BS_ROOT);
}

void bs_linux_report(int fd, const void *context)
{
	struct bs_line l = {.fd = fd, .file = -1};

	bs_report_begin(&l);
	bs_report_registers(&l, context);
	bs_report_end(&l, bs_report_frames(&l, context));
}
