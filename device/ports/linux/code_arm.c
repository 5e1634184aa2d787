/* ARM and Thumb instructions, of as many as frames are made of; conditions are not looked at. */
#include "code.h"

#if BS_MACHINE == BS_ARM

enum { PC = 15, IP = 12, LITERAL = 0x40 /* halves below are literals' upper ones, not instructions */ };

static int32_t extended(uint32_t v, unsigned size) { return (int32_t)(v << (32 - size)) >> (32 - size); }

/* code_mode: nearly all of ARM's instructions are executed always, which their highest digit says. */
int code_mode(const struct path *p)
{
	enum { BEFORE = 4, WORDS = 20 };
	int i, always = 0, read = 0;
	uint32_t w;

	if (p->pc & 2)
		return 1;
	for (i = 0; i < WORDS; i++) {
		bs_word at = p->pc + 4 * (bs_word)i - 4 * BEFORE;
		if (code_fetch(p, at, 4, &w) && w >> 24 != 0) { /* no literal */
			always += w >> 28 == 14;
			read++;
		}
	}
	return 2 * always < read;
}

/* fetch reads an instruction; of one of 4 bytes in Thumb the first half is the upper one. */
static int fetch(const struct path *p, bs_word at, uint32_t *w, unsigned *size)
{
	uint32_t second;

	*size = 4;
	if (!p->mode)
		return code_fetch(p, at, 4, w);
	if (!code_fetch(p, at, 2, w))
		return 0;
	if (*w < 0xe800) {
		*size = 2;
		return 1;
	}
	if (!code_fetch(p, at + 2, 2, &second))
		return 0;
	*w = *w << 16 | second;
	return 1;
}

/* thumb_branch is where a branch of 4 bytes goes. */
static int32_t thumb_branch(uint32_t w)
{
	uint32_t s = w >> 26 & 1, low = (w & 0x7ff) << 1;

	if ((w & 0x1000) == 0) /* with a condition */
		return extended(s << 20 | (w >> 11 & 1) << 19 | (w >> 13 & 1) << 18 | (w >> 16 & 0x3f) << 12 | low, 21);
	return extended(s << 24 | (~(w >> 13 ^ s) & 1) << 23 | (~(w >> 11 ^ s) & 1) << 22 | (w >> 16 & 0x3ff) << 12 | low, 25);
}

static void thumb16(uint32_t w, struct flow *f, bs_word pc)
{
	if ((w & 0xff00) == 0xbd00) { /* pop with pc */
		f->kind = RETURN;
		f->slot = ITSELF;
	} else if ((w & 0xff07) == 0x4700) /* bx, which makes calls in the last place, too; blx */
		f->kind = w & 0x80 ? CALL : (w >> 3 & 15) == PC ? DEAD : RETURN;
	else if ((w & 0xff87) == 0x4687) /* mov pc */
		f->kind = (w >> 3 & 15) == BS_LR ? RETURN : DEAD;
	else if ((w & 0xff87) == 0x4487 || w >> 8 == 0xde || w < LITERAL)
		f->kind = DEAD;
	else if (w >> 12 == 13 && w >> 8 != 0xdf) {
		f->kind = BRANCH;
		f->target = pc + 4 + (bs_word)(extended(w & 0xff, 8) * 2);
	} else if (w >> 11 == 0x1c) {
		f->kind = JUMP;
		f->target = pc + 4 + (bs_word)(extended(w & 0x7ff, 11) * 2);
	} else if ((w & 0xf500) == 0xb100) { /* cbz, cbnz */
		f->kind = BRANCH;
		f->target = pc + 4 + ((w >> 3 & 31) << 1 | (w >> 9 & 1) << 6);
	}
}

static void thumb32(uint32_t w, struct flow *f, bs_word pc)
{
	if ((w & 0xf800d000) == 0xf000d000 || (w & 0xf800d000) == 0xf000c000)
		f->kind = CALL;
	else if ((w & 0xf800d000) == 0xf0009000 || ((w & 0xf800d000) == 0xf0008000 && (w >> 23 & 7) != 7)) {
		f->kind = w & 0x1000 ? JUMP : BRANCH;
		f->target = pc + 4 + (bs_word)thumb_branch(w);
	} else if (((w & 0xfe508000) == 0xe8108000 && (w >> 16 & 15) == BS_SP) || (w & 0xfffff000) == 0xf85df000) { /* ldm, ldr with pc */
		f->kind = RETURN;
		f->slot = ITSELF;
	} else if ((w & 0xfff0f000) == 0xf8d0f000 || (w & 0xfff0f000) == 0xf850f000) /* ldr pc: a call in the last place, if by ip */
		f->kind = (w >> 16 & 15) == IP ? RETURN : DEAD;
	else if ((w & 0xfff0ffe0) == 0xe8d0f000 || (w & 0xfff0f000) == 0xf7f0a000 || (w & 0xfe508000) == 0xe8108000) /* tbb, udf, ldm of another base */
		f->kind = DEAD;
}

static void arm(uint32_t w, struct flow *f, bs_word pc)
{
	uint32_t rn = w >> 16 & 15;

	if (w >> 24 == 0) /* a literal */
		f->kind = DEAD;
	else if (w >> 28 == 15)
		f->kind = (w & 0xfe000000) == 0xfa000000 ? CALL : NEXT;
	else if ((w & 0x0e000000) == 0x0a000000) {
		f->kind = w >> 24 & 1 ? CALL : w >> 28 == 14 ? JUMP : BRANCH;
		f->target = pc + 8 + (bs_word)(extended(w & 0xffffff, 24) * 4);
	} else if ((w & 0x0fffffd0) == 0x012fff10) /* bx, blx */
		f->kind = w & 0x20 ? CALL : RETURN;
	else if ((w & 0x0e108000) == 0x08108000 || (w & 0x0f7ff000) == 0x041df000) { /* ldm, ldr with pc */
		f->kind = (w & 0x0e000000) == 0x08000000 && rn != BS_SP && rn != 11 ? DEAD : RETURN;
		f->slot = ITSELF;
	} else if ((w & 0x0c50f000) == 0x0410f000)
		f->kind = rn == IP ? RETURN : DEAD;
	else if ((w & 0x0fffffff) == 0x01a0f00e) /* mov pc, lr */
		f->kind = RETURN;
	else if (((w & 0x0c00f000) == 0x0000f000 && (w >> 23 & 3) != 2) || (w & 0x0ff000f0) == 0x07f000f0)
		f->kind = DEAD;
}

int code_flow(const struct path *p, struct flow *f)
{
	uint32_t w, next;

	f->kind = NEXT;
	f->slot = NO_SLOT;
	f->target = 0;
	if (!fetch(p, p->pc, &w, &f->size))
		return 0;
	if (!p->mode)
		arm(w, f, p->pc);
	else if (f->size == 2) {
		thumb16(w, f, p->pc);
		if (p->pc % 4 == 0 && code_fetch(p, p->pc + 2, 2, &next) && next < LITERAL)
			f->kind = DEAD;
	} else
		thumb32(w, f, p->pc);
	return 1;
}

/* several moves the registers of a list to or from memory; down: the list ends below the base, before: at the next word. Where a
 * return address is loaded into pc, it takes lr's place. */
static void several(struct path *p, int base, uint32_t list, int load, int down, int before, int write)
{
	int32_t n = 0, size = 0;
	int r, to;
	struct value first = p->r[base];

	for (r = 0; r < 16; r++)
		size += list >> r & 1 ? 4 : 0;
	n = down ? -size + (before ? 0 : 4) : before ? 4 : 0;
	for (r = 0; r < 16; r++) {
		if (!(list >> r & 1))
			continue;
		to = r == PC ? BS_LR : r;
		if (load && to != base)
			code_load(p, to, base, n);
		else if (!load)
			code_store(p, r, base, n);
		n += 4;
	}
	if (load && (list >> base & 1)) { /* as loaded, by the base that was */
		for (n = down ? -size + (before ? 0 : 4) : before ? 4 : 0, r = 0; r < base; r++)
			n += list >> r & 1 ? 4 : 0;
		p->r[base] = first;
		code_load(p, base, base, n);
	} else if (write)
		code_add(p, base, base, down ? -size : size);
}

/* one moves a register to or from memory. */
static void one(struct path *p, int r, int base, int32_t n, int load, int before, int write)
{
	int to = r == PC ? BS_LR : r;

	if (load && to != base)
		code_load(p, to, base, before ? n : 0);
	else if (!load)
		code_store(p, r, base, before ? n : 0);
	if (write)
		code_add(p, base, base, n);
	if (load && to == base)
		code_forget(p, base);
}

static void thumb16_effect(struct path *p, uint32_t w)
{
	int low = (int)(w & 7), rd = (int)((w & 7) | (w >> 4 & 8)), rm = (int)(w >> 3 & 15);
	int32_t n = (int32_t)(w & 0x7f) * 4;

	if ((w & 0xfe00) == 0xb400)
		several(p, BS_SP, (w & 0xff) | (w & 0x100) << 6, 0, 1, 1, 1);
	else if ((w & 0xfe00) == 0xbc00)
		several(p, BS_SP, (w & 0xff) | (w & 0x100) << 7, 1, 0, 0, 1);
	else if ((w & 0xff00) == 0xb000)
		code_add(p, BS_SP, BS_SP, w & 0x80 ? -n : n);
	else if (w >> 11 == 0x15)
		code_add(p, (int)(w >> 8 & 7), BS_SP, (int32_t)(w & 0xff) * 4);
	else if (w >> 8 == 0x46)
		code_add(p, rd, rm, 0);
	else if (w >> 8 == 0x44)
		code_sum(p, rd, rd, rm, 1);
	else if (w >> 11 == 4)
		code_number(p, (int)(w >> 8 & 7), (int32_t)(w & 0xff));
	else if (w >> 11 == 6 || w >> 11 == 7)
		code_add(p, (int)(w >> 8 & 7), (int)(w >> 8 & 7), w >> 11 == 6 ? (int32_t)(w & 0xff) : -(int32_t)(w & 0xff));
	else if (w >> 10 == 7)
		code_add(p, low, (int)(w >> 3 & 7), w & 0x200 ? -(int32_t)(w >> 6 & 7) : (int32_t)(w >> 6 & 7));
	else if (w >> 12 == 9)
		one(p, (int)(w >> 8 & 7), BS_SP, (int32_t)(w & 0xff) * 4, (int)(w >> 11 & 1), 1, 0);
	else if (w >> 12 == 6)
		one(p, low, (int)(w >> 3 & 7), (int32_t)(w >> 6 & 31) * 4, (int)(w >> 11 & 1), 1, 0);
	else if (w >> 12 == 12)
		several(p, (int)(w >> 8 & 7), w & 0xff, (int)(w >> 11 & 1), 0, 0, 1);
	else if (w >> 11 == 9 || w >> 11 == 0x14)
		code_forget(p, (int)(w >> 8 & 7));
	else if (w < 0x2000 || (w >> 10 == 16 && (w >> 6 & 15) != 8 && (w >> 6 & 15) != 10 && (w >> 6 & 15) != 11) || w >> 8 == 0xb2 ||
		 ((w >> 12 == 5 || w >> 12 == 7 || w >> 12 == 8) && ((w >> 11 & 1) || (w >> 9) == 0x2b)))
		code_forget(p, low);
}

static void thumb32_effect(struct path *p, uint32_t w)
{
	int rn = (int)(w >> 16 & 15), rt = (int)(w >> 12 & 15), rd = (int)(w >> 8 & 15), rm = (int)(w & 15), load = (int)(w >> 20 & 1);
	int32_t imm12 = (int32_t)(w & 0xff) | (int32_t)(w >> 12 & 7) << 8 | (int32_t)(w >> 26 & 1) << 11, imm8 = (int32_t)(w & 0xff);
	uint32_t op = w >> 20 & 0xfff;

	if ((w & 0xfe400000) == 0xe8000000) /* stm, ldm */
		several(p, rn, w & 0xffff, load, (int)(w >> 24 & 1), (int)(w >> 24 & 1), (int)(w >> 21 & 1));
	else if ((w & 0xfe400000) == 0xe8400000) { /* strd, ldrd; exclusive ones have neither P nor W */
		int32_t n = (w >> 23 & 1 ? 4 : -4) * imm8;
		int before = (int)(w >> 24 & 1), write = (int)(w >> 21 & 1);
		if (!before && !write) {
			code_forget(p, load ? rt : rm);
			return;
		}
		one(p, rt, rn, n, load, before, 0);
		one(p, rd, rn, before ? n + 4 : 4, load, 1, 0);
		if (write)
			code_add(p, rn, rn, n);
	} else if (op == 0xf8c || op == 0xf8d)
		one(p, rt, rn, (int32_t)(w & 0xfff), load, 1, 0);
	else if ((op == 0xf84 || op == 0xf85) && (w & 0x800))
		one(p, rt, rn, w & 0x200 ? imm8 : -imm8, load, (int)(w >> 10 & 1), (int)(w >> 8 & 1));
	else if ((w & 0xfbe08000) == 0xf1000000 || (w & 0xfbe08000) == 0xf1a00000) { /* add, sub: a byte, or one of bits shifted to */
		int32_t n = imm12 < 256 ? imm12 : (int32_t)((0x80u | ((uint32_t)imm12 & 0x7f)) << (32 - (imm12 >> 7)));
		if (imm12 < 1024 && imm12 >= 256)
			code_forget(p, rd);
		else
			code_add(p, rd, rn, (w & 0xa00000) == 0xa00000 ? -n : n);
	} else if ((w & 0xfbf08000) == 0xf2000000 || (w & 0xfbf08000) == 0xf2a00000)
		code_add(p, rd, rn, w & 0x800000 ? -imm12 : imm12);
	else if ((w & 0xfbf08000) == 0xf2400000) /* movw */
		code_number(p, rd, imm12 | rn << 12);
	else if ((w & 0xfbf08000) == 0xf2c00000 && p->r[rd].kind == NUMBER) /* movt */
		p->r[rd].n = (int32_t)(((uint32_t)p->r[rd].n & 0xffff) | (uint32_t)(imm12 | rn << 12) << 16);
	else if ((w & 0xfbff8000) == 0xf04f0000 && imm12 < 256)
		code_number(p, rd, imm12);
	else if ((w & 0xffe0f0f0) == 0xeb000000 || (w & 0xffe0f0f0) == 0xeba00000)
		code_sum(p, rd, rn, rm, w & 0x800000 ? -1 : 1);
	else if ((w & 0xffeff0f0) == 0xea4f0000)
		code_add(p, rd, rm, 0);
	else if ((w & 0xfe200e00) == 0xec200a00) /* vpush, vpop, and their like */
		code_add(p, rn, rn, w >> 23 & 1 ? imm8 * 4 : -imm8 * 4);
	else if (w >> 25 == 0x7c && load)
		code_forget(p, rt);
	else if ((w & 0xfa008000) == 0xf0000000 || w >> 25 == 0x75 || w >> 24 == 0xfa || w >> 24 == 0xfb)
		code_forget(p, rd);
}

static void arm_effect(struct path *p, uint32_t w)
{
	int rn = (int)(w >> 16 & 15), rd = (int)(w >> 12 & 15), rm = (int)(w & 15), load = (int)(w >> 20 & 1);
	int up = (int)(w >> 23 & 1), before = (int)(w >> 24 & 1), write = (int)(w >> 21 & 1) || !before;
	uint32_t op = w >> 21 & 15, shift = w >> 7 & 30;
	int32_t n = (int32_t)((w & 0xff) >> shift | (shift ? (w & 0xff) << (32 - shift) : 0));

	if (w >> 28 == 15)
		return;
	if ((w & 0x0e000000) == 0x08000000)
		several(p, rn, w & 0xffff, load, !up, before, (int)(w >> 21 & 1));
	else if ((w & 0x0e000000) == 0x04000000) {
		int32_t offset = (int32_t)(w & 0xfff) * (up ? 1 : -1);
		if (w >> 22 & 1) /* a byte */
			code_forget(p, load ? rd : -1);
		one(p, w >> 22 & 1 ? -1 : rd, rn, offset, load, before, write);
	} else if ((w & 0x0e5000d0) == 0x004000d0) { /* ldrd, strd */
		int32_t offset = (int32_t)((w >> 4 & 0xf0) | (w & 15)) * (up ? 1 : -1);
		one(p, rd, rn, offset, !(w >> 5 & 1), before, 0);
		one(p, rd | 1, rn, before ? offset + 4 : 4, !(w >> 5 & 1), 1, 0);
		if (write)
			code_add(p, rn, rn, offset);
	} else if ((w & 0x0ff00000) == 0x03000000) /* movw */
		code_number(p, rd, (int32_t)((w & 0xfff) | (w >> 4 & 0xf000)));
	else if ((w & 0x0ff00000) == 0x03400000) { /* movt */
		if (p->r[rd].kind == NUMBER)
			p->r[rd].n = (int32_t)(((uint32_t)p->r[rd].n & 0xffff) | ((w & 0xfff) | (w >> 4 & 0xf000)) << 16);
	} else if ((w & 0x0e000000) == 0x02000000) { /* with an immediate */
		if (op == 4 || op == 2)
			code_add(p, rd, rn, op == 4 ? n : -n);
		else if (op == 13)
			code_number(p, rd, n);
		else if (op < 8 || op > 11)
			code_forget(p, rd);
	} else if ((w & 0x0e000ff0) == 0 && (op == 4 || op == 2))
		code_sum(p, rd, rn, rm, op == 4 ? 1 : -1);
	else if ((w & 0x0fef0ff0) == 0x01a00000)
		code_add(p, rd, rm, 0);
	else if ((w & 0x0e200e00) == 0x0c200a00) /* vpush, vpop */
		code_add(p, rn, rn, (up ? 4 : -4) * (int32_t)(w & 0xff));
	else if ((w & 0x0e000000) == 0 && (op < 8 || op > 11))
		code_forget(p, (w & 0x0f0000f0) == 0x00000090 ? rn : rd);
	else if ((w & 0x0e000000) == 0x06000000)
		code_forget(p, rd);
}

void code_effect(struct path *p, bs_word pc)
{
	uint32_t w;
	unsigned size;

	if (!fetch(p, pc, &w, &size))
		return;
	if (!p->mode)
		arm_effect(p, w);
	else if (size == 2)
		thumb16_effect(p, w);
	else
		thumb32_effect(p, w);
}

#endif
