/* AArch64 instructions. */
#include "code.h"

#if BS_MACHINE == BS_AARCH64

/* number is a register's; x12, with which GCC makes large frames, takes the place of x18. */
static int number(uint32_t r)
{
	r &= 31;
	return r == 12 ? 2 : r >= 16 && r != 18 ? (int)r - 16 : -1;
}

/* plain is number, where 31 is the zero register. */
static int plain(uint32_t r) { return (r & 31) == 31 ? -1 : number(r); }

static int64_t extended(uint32_t v, unsigned size) { return (int32_t)(v << (32 - size)) >> (32 - size); }

int code_flow(const struct path *p, struct flow *f)
{
	uint32_t w, r;

	if (!code_fetch(p, p->pc, 4, &w))
		return 0;
	r = w >> 5 & 31;
	f->kind = NEXT;
	f->slot = NO_SLOT;
	f->size = 4;
	f->target = 0;
	if (w >> 26 == 0x05 || w >> 26 == 0x25) { /* b, bl */
		f->kind = w >> 31 ? CALL : JUMP;
		f->target = p->pc + (bs_word)(extended(w & 0x3ffffff, 26) * 4);
	} else if ((w & 0xff000010) == 0x54000000 || (w & 0x7e000000) == 0x34000000) { /* b.cond, cbz, cbnz */
		f->kind = BRANCH;
		f->target = p->pc + (bs_word)(extended(w >> 5 & 0x7ffff, 19) * 4);
	} else if ((w & 0x7e000000) == 0x36000000) { /* tbz, tbnz */
		f->kind = BRANCH;
		f->target = p->pc + (bs_word)(extended(w >> 5 & 0x3fff, 14) * 4);
	} else if ((w & 0xfffffbff) == 0xd65f0bff || (w & 0xfffffc1f) == 0xd65f0000) /* ret, retaa, retab */
		f->kind = RETURN;
	else if ((w & 0xfffffc1f) == 0xd61f0000) /* br; calls in the last place are made by x16 and x17 */
		f->kind = r == 16 || r == 17 ? RETURN : DEAD;
	else if ((w & 0xfeff0000) == 0xd63f0000) /* blr, blraa */
		f->kind = CALL;
	else if ((w & 0xfe9f0000) == 0xd61f0000 || (w & 0xffe0001f) == 0xd4200000) /* braa, eret, brk */
		f->kind = DEAD;
	return 1;
}

/* transfer moves one register or two of 8 bytes to or from memory. */
static void transfer(struct path *p, uint32_t w, int pair, int load, int64_t n, int before, int back)
{
	int base = number(w >> 5), first = plain(w), second = plain(w >> 10);

	if (before)
		code_add(p, base, base, (int32_t)n);
	if (before || back)
		n = before ? 0 : n;
	if (load) {
		code_load(p, first, base, back ? 0 : (int32_t)n);
		if (pair)
			code_load(p, second, base, (back ? 0 : (int32_t)n) + 8);
	} else {
		code_store(p, first, base, back ? 0 : (int32_t)n);
		if (pair)
			code_store(p, second, base, (back ? 0 : (int32_t)n) + 8);
	}
	if (back)
		code_add(p, base, base, (int32_t)n);
}

void code_effect(struct path *p, bs_word pc)
{
	uint32_t w, mode;

	if (!code_fetch(p, pc, 4, &w))
		return;
	if ((w & 0x7f800000) == 0x11000000 || (w & 0x7f800000) == 0x51000000) { /* add, sub of an immediate */
		int32_t n = (int32_t)(w >> 10 & 0xfff) << (w >> 22 & 1 ? 12 : 0);
		if (w >> 31)
			code_add(p, number(w), number(w >> 5), w >> 30 & 1 ? -n : n);
		else
			code_forget(p, plain(w));
	} else if ((w & 0xffe0ffe0) == 0xaa0003e0) /* mov */
		code_add(p, plain(w), plain(w >> 16), 0);
	else if ((w & 0xff800000) == 0xd2800000) /* movz */
		code_number(p, plain(w), w >> 21 & 3 ? (w >> 21 & 3) == 1 ? (int32_t)((w >> 5 & 0xffff) << 16) : 0 : (int32_t)(w >> 5 & 0xffff));
	else if ((w & 0xff800000) == 0xf2800000 && (w >> 21 & 3) == 1 && plain(w) >= 0 && p->r[plain(w)].kind == NUMBER) /* movk */
		p->r[plain(w)].n = (int32_t)(((uint32_t)p->r[plain(w)].n & 0xffff) | (w >> 5 & 0xffff) << 16);
	else if ((w & 0xffe0fc00) == 0x8b206000 || (w & 0xffe0fc00) == 0xcb206000) /* add, sub of sp and an extended register */
		code_sum(p, number(w), number(w >> 5), plain(w >> 16), w >> 30 & 1 ? -1 : 1);
	else if ((w & 0x3c000000) == 0x28000000 && (w >> 23 & 7) != 0 && (w >> 26 & 1) == 0) { /* stp, ldp */
		mode = w >> 23 & 3; /* 1: behind, 2: offset, 3: before */
		if (w >> 30 == 2)
			transfer(p, w, 1, (int)(w >> 22 & 1), extended(w >> 15 & 0x7f, 7) * 8, mode == 3, mode == 1);
		else {
			code_forget(p, plain(w));
			code_forget(p, plain(w >> 10));
		}
	} else if ((w & 0x3e000000) == 0x2c000000) { /* of floating-point registers: the base may move */
		mode = w >> 23 & 3;
		if (mode & 1)
			code_add(p, number(w >> 5), number(w >> 5), (int32_t)(extended(w >> 15 & 0x7f, 7) * (4 << (w >> 30))));
	} else if ((w & 0xffc00000) == 0xf9000000 || (w & 0xffc00000) == 0xf9400000) /* str, ldr: unsigned offset */
		transfer(p, w, 0, (int)(w >> 22 & 1), (int64_t)(w >> 10 & 0xfff) * 8, 0, 0);
	else if (((w & 0xffe00000) == 0xf8000000 || (w & 0xffe00000) == 0xf8400000)) { /* str, ldr: stur, behind, before */
		mode = w >> 10 & 3;
		transfer(p, w, 0, (int)(w >> 22 & 1), extended(w >> 12 & 0x1ff, 9), mode == 3, mode == 1);
	} else if ((w & 0x3e000000) == 0x3c000000 && !(w >> 24 & 1) && !(w >> 21 & 1)) { /* floating-point, behind or before */
		if (w >> 10 & 1)
			code_add(p, number(w >> 5), number(w >> 5), (int32_t)extended(w >> 12 & 0x1ff, 9));
	} else if ((w & 0x0a000000) == 0x08000000 && !(w >> 22 & 3) ) /* other stores */
		;
	else if ((w & 0xfffff01f) != 0xd503201f && (w & 0x1e000000) != 0x1e000000)
		code_forget(p, plain(w));
}

#endif
