/* The trampoline loads the number of the system call sigreturn and makes the call; the kernel
 * has left the interrupted registers at a fixed distance above the stack pointer (each
 * architecture's arch/.../kernel/signal.c and uapi/asm/sigcontext.h). */
#include "signal.h"

#ifndef BS_BIG
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define BS_BIG 1
#else
#define BS_BIG 0
#endif
#endif

/* peek reads a word anywhere, not on the stack alone. */
static int peek(const struct bs_world *w, bs_word at, bs_word *value)
{
	if (w->read)
		return w->read(w->context, at, value);
	*value = *(const bs_word *)(uintptr_t)at;
	return 1;
}

#if BS_MACHINE != BS_X86_64 && BS_MACHINE != BS_I386
/* code reads an instruction of 2 or 4 bytes, in parts of two, at any even address. */
static int code(const struct bs_world *w, bs_word at, int size, uint32_t *value)
{
	bs_word word;
	uint32_t parts[2] = {0, 0};
	int i;

	for (i = 0; i < size / 2; i++, at += 2) {
		unsigned shift = (unsigned)(at & (BS_WORD - 1)) * 8;
		if (!peek(w, at & ~(bs_word)(BS_WORD - 1), &word))
			return 0;
		if (BS_BIG)
			shift = (BS_WORD - 2) * 8 - shift;
		parts[i] = (uint32_t)(word >> shift) & 0xffff;
	}
	*value = parts[0];
	if (size == 4)
		*value = BS_BIG ? parts[0] << 16 | parts[1] : parts[1] << 16 | parts[0];
	return 1;
}
#endif

#if BS_MACHINE == BS_MIPS || BS_MACHINE == BS_AARCH64 || BS_MACHINE == BS_RISCV
/* two tells whether two instructions stand at an address. */
static int two(const struct bs_world *w, bs_word at, uint32_t first, uint32_t second)
{
	uint32_t a, b;
	return code(w, at, 4, &a) && a == first && code(w, at + 4, 4, &b) && b == second;
}
#endif

/* take reads a saved register. */
static void take(const struct bs_world *w, struct bs_regs *regs, int r, bs_word at)
{
	if (bs_load(w, at, &regs->r[r]))
		regs->known |= (uint16_t)(1u << r);
	else
		regs->known &= (uint16_t)~(1u << r);
}

#if BS_MACHINE == BS_MIPS

static bs_word context_at(const struct bs_world *w, const struct bs_regs *regs)
{
	bs_word sp = regs->r[BS_SP];
#if BS_WORD == 4
	if (two(w, regs->pc, 0x24021017, 0x0000000c)) /* li v0, __NR_sigreturn; syscall */
		return sp + 24;
	if (two(w, regs->pc, 0x24021061, 0x0000000c)) /* __NR_rt_sigreturn */
		return sp + 24 + 128 + 24;
#elif BS_ADDRESS == 8
	if (two(w, regs->pc, 0x2402145b, 0x0000000c))
		return sp + 24 + 128 + 40;
#else
	if (two(w, regs->pc, 0x24021843, 0x0000000c))
		return sp + 24 + 128 + 24;
#endif
	return 0;
}

static void registers(const struct bs_world *w, struct bs_regs *regs, bs_word at)
{
	static const uint8_t number[16] = {16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 1, 15, 28, 29, 30, 31};
	int i;
#if BS_WORD == 4 /* 64-bit fields: regmask and status, pc, registers */
	at += BS_BIG ? 4 : 0;
	for (i = 0; i < 16; i++)
		take(w, regs, i, at + 16 + 8 * (bs_word)number[i]);
	if (!bs_load(w, at + 8, &regs->pc))
		regs->pc = 0;
#else
	for (i = 0; i < 16; i++)
		take(w, regs, i, at + 8 * (bs_word)number[i]);
	if (!bs_load(w, at + 576, &regs->pc))
		regs->pc = 0;
#endif
	regs->pc &= ~(bs_word)1;
}

#elif BS_MACHINE == BS_ARM

static bs_word context_at(const struct bs_world *w, const struct bs_regs *regs)
{
	bs_word sp = regs->r[BS_SP], pc = regs->pc, size = 0;
	uint32_t a = 0, b = 0;

	if (!code(w, pc, 4, &a) || !code(w, pc + 4, 4, &b))
		return 0;
	if ((a == 0xe3a07077 && (b == 0xef000000 || b == 0xef900077)) || a == 0xdf002777 || (a == 0x0777f04f && (b & 0xffff) == 0xdf00))
		size = 20;
	if ((a == 0xe3a070ad && (b == 0xef000000 || b == 0xef9000ad)) || a == 0xdf0027ad || (a == 0x07adf04f && (b & 0xffff) == 0xdf00))
		size = 148;
	return size ? sp + size : 0;
}

static void registers(const struct bs_world *w, struct bs_regs *regs, bs_word at)
{
	int i;
	for (i = 0; i < 15; i++) /* trap number, error code, mask, r0 to r15 */
		take(w, regs, i, at + 12 + 4 * (bs_word)i);
	if (!bs_load(w, at + 12 + 60, &regs->pc))
		regs->pc = 0;
	regs->pc &= ~(bs_word)1;
}

#elif BS_MACHINE == BS_AARCH64

static bs_word context_at(const struct bs_world *w, const struct bs_regs *regs)
{
	return two(w, regs->pc, 0xd2801168, 0xd4000001) ? regs->r[BS_SP] + 128 + 176 : 0; /* mov x8, #139; svc #0 */
}

static void registers(const struct bs_world *w, struct bs_regs *regs, bs_word at)
{
	int i;
	for (i = 0; i < 16; i++) /* fault address, x0 to x30, sp, pc */
		take(w, regs, i, at + 8 + 8 * (bs_word)(16 + i));
	if (!bs_load(w, at + 8 + 8 * 32, &regs->pc))
		regs->pc = 0;
}

#elif BS_MACHINE == BS_RISCV

static bs_word context_at(const struct bs_world *w, const struct bs_regs *regs)
{
	if (!two(w, regs->pc, 0x08b00893, 0x00000073)) /* li a7, 139; ecall */
		return 0;
	return regs->r[BS_SP] + 128 + (BS_WORD == 8 ? 176 : 160);
}

static void registers(const struct bs_world *w, struct bs_regs *regs, bs_word at)
{
	static const uint8_t number[15] = {1, 2, 5, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};
	int i;
	for (i = 0; i < 15; i++) /* pc in place of x0 */
		take(w, regs, i, at + BS_WORD * (bs_word)number[i]);
	if (!bs_load(w, at, &regs->pc))
		regs->pc = 0;
}

#elif BS_MACHINE == BS_X86_64

/* byte reads one byte of code. */
static int byte(const struct bs_world *w, bs_word at)
{
	bs_word word;
	return peek(w, at & ~(bs_word)7, &word) ? (int)(word >> (at & 7) * 8 & 0xff) : -1;
}

static bs_word context_at(const struct bs_world *w, const struct bs_regs *regs)
{
	static const uint8_t wide[9] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05}, narrow[7] = {0xb8, 0x0f, 0, 0, 0, 0x0f, 0x05};
	bs_word i, pc = regs->pc;

	for (i = 0; i < sizeof wide && byte(w, pc + i) == wide[i];)
		i++;
	if (i == sizeof wide)
		return regs->r[BS_SP] + 40;
	for (i = 0; i < sizeof narrow && byte(w, pc + i) == narrow[i];)
		i++;
	return i == sizeof narrow ? regs->r[BS_SP] + 40 : 0;
}

static void registers(const struct bs_world *w, struct bs_regs *regs, bs_word at)
{
	/* r8 to r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip: DWARF numbers */
	static const uint8_t number[16] = {8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7};
	int i;
	for (i = 0; i < 16; i++)
		take(w, regs, number[i], at + 8 * (bs_word)i);
	if (!bs_load(w, at + 128, &regs->pc))
		regs->pc = 0;
}

#elif BS_MACHINE == BS_I386

static int byte(const struct bs_world *w, bs_word at)
{
	bs_word word;
	return peek(w, at & ~(bs_word)3, &word) ? (int)(word >> (at & 3) * 8 & 0xff) : -1;
}

static bs_word context_at(const struct bs_world *w, const struct bs_regs *regs)
{
	bs_word pc = regs->pc, number;
	int old = byte(w, pc) == 0x58; /* pop %eax; mov $119, %eax */

	pc += (bs_word)old;
	number = old ? 119 : 173;
	if (byte(w, pc) != 0xb8 || byte(w, pc + 1) != (int)number || byte(w, pc + 2) || byte(w, pc + 3) || byte(w, pc + 4))
		return 0;
	if (!(byte(w, pc + 5) == 0xcd && byte(w, pc + 6) == 0x80) && !(byte(w, pc + 5) == 0x0f && byte(w, pc + 6) == 0x05))
		return 0;
	return regs->r[BS_SP] + (old ? 4 : 12 + 128 + 20);
}

static void registers(const struct bs_world *w, struct bs_regs *regs, bs_word at)
{
	/* edi, esi, ebp, esp, ebx, edx, ecx, eax */
	static const uint8_t number[8] = {7, 6, 5, 4, 3, 2, 1, 0};
	int i;
	for (i = 0; i < 8; i++)
		take(w, regs, number[i], at + 16 + 4 * (bs_word)i);
	if (!bs_load(w, at + 56, &regs->pc))
		regs->pc = 0;
}

#endif

int bs_linux_trampoline(void *context, const struct bs_world *w, struct bs_regs *regs)
{
	bs_word at = context_at(w, regs);
	(void)context;
	if (!at)
		return 0;
	registers(w, regs, at);
	regs->exact = 1;
	return regs->pc != 0;
}
