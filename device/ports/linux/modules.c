#define _GNU_SOURCE
#include "modules.h"

#include <link.h>
#include <ucontext.h>
#include <unistd.h>

#include "signal.h"

enum { MAX_MODULES = 64, TABLE_SEGMENT = 0x62734431 /* the type of the program header of a table */ };

static struct bs_linux_module modules[MAX_MODULES];
static volatile int module_count;

static int add_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct bs_linux_module *m = &modules[module_count];
	int i;

	(void)size;
	(void)data;
	if (module_count == MAX_MODULES)
		return 1;
	m->bias = (bs_word)info->dlpi_addr;
	m->low = ~(bs_word)0;
	m->high = 0;
	m->table = 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		bs_word at = m->bias + (bs_word)p->p_vaddr;
		if (p->p_type == TABLE_SEGMENT && bs_check((const uint8_t *)(uintptr_t)at, p->p_memsz, 0))
			m->table = (const uint8_t *)(uintptr_t)at;
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		if (at < m->low)
			m->low = at;
		if (at + (bs_word)p->p_memsz > m->high)
			m->high = at + (bs_word)p->p_memsz;
	}
	if (m->low < m->high)
		module_count++;
	return 0;
}

int bs_linux_refresh(void)
{
	int i, n = 0;

	module_count = 0;
	dl_iterate_phdr(add_module, 0);
	for (i = 0; i < module_count; i++)
		n += modules[i].table != 0;
	return n;
}

const struct bs_linux_module *bs_linux_module_at(bs_word pc)
{
	int i;

	for (i = 0; i < module_count; i++)
		if (pc >= modules[i].low && pc < modules[i].high)
			return &modules[i];
	return 0;
}

const uint8_t *bs_linux_table_at(void *context, bs_word pc, bs_word *bias)
{
	const struct bs_linux_module *m = bs_linux_module_at(pc);

	(void)context;
	if (!m)
		return 0;
	*bias = m->bias;
	return m->table;
}

/* The kernel's own trampoline is in no module with a table, or on the stack; a C library's is in the
 * library. */
int bs_linux_caught(void *context, const struct bs_world *w, struct bs_regs *regs)
{
	return regs->pc != 0 && bs_linux_trampoline(context, w, regs);
}

const struct bs_world bs_linux_world = {bs_linux_table_at, 0, bs_linux_caught, 0, 0, 0, 0, 0, 0};

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
	char text[128];
	size_t used;
	int fd;
};

static void flush(struct line *l)
{
	if (l->used > 0 && write(l->fd, l->text, l->used) < 0)
		l->fd = -1;
	l->used = 0;
}

static void put(void *context, char c)
{
	struct line *l = context;

	if (l->used == sizeof l->text)
		flush(l);
	l->text[l->used++] = c;
}

void bs_linux_print(int fd, const bs_word *pcs, int n)
{
	enum { MAX_PRINTED = 64 };
	struct line l;
	bs_word image[MAX_PRINTED];
	const struct bs_linux_module *m = n > 0 ? bs_linux_module_at(pcs[0]) : 0;
	int i;

	l.used = 0;
	l.fd = fd;
	for (i = 0; m && i < n && i < MAX_PRINTED && pcs[i] - 1 >= m->low && pcs[i] - 1 < m->high; i++)
		image[i] = pcs[i] - m->bias;
	bs_print(image, m ? i : 0, m ? m->table : 0, put, &l);
	flush(&l);
}
