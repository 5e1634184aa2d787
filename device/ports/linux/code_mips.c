/* MIPS32 and MIPS64 instructions, o32, n32 and n64. */
#include "code.h"

#if BS_MACHINE == BS_MIPS

/* number is a register's; $3 and $8, with which large frames are made, take the places of $24 and $25. */
static int number(uint32_t r)
{
	r &= 31;
	return r == 3 ? 8 : r == 8 ? 9 : r >= 16 && r <= 23 ? (int)r - 16 : r == 1 ? 10 : r == 15 ? 11 : r >= 28 ? (int)r - 16 : -1;
}

int code_flow(const struct path *p, struct flow *f)
{
	uint32_t w, op, rt;

	if (!code_fetch(p, p->pc, 4, &w))
		return 0;
	op = w >> 26;
	rt = w >> 16 & 31;
	f->kind = NEXT;
	f->slot = NO_SLOT;
	f->size = 4;
	f->target = p->pc + 4 + (bs_word)(int64_t)((int32_t)(int16_t)w * 4);
	if (op == 0 && ((w & 63) == 8 || (w & 63) == 9)) { /* jr, jalr */
		f->kind = (w & 63) == 9 && (w >> 11 & 31) ? CALL : (w >> 21) == 31 || (w >> 21) == 25 ? RETURN : DEAD;
		f->slot = SLOT;
	} else if (op == 0 && (w & 63) == 13) /* break */
		f->kind = DEAD;
	else if (op == 2 || op == 3 || op == 29) { /* j, jal, jalx */
		f->kind = op == 2 ? JUMP : CALL;
		f->slot = SLOT;
		f->target = ((p->pc + 4) & ~(bs_word)0xfffffff) | (w & 0x3ffffff) << 2;
	} else if (op == 1 && (rt & 12) == 0) { /* b(lt|ge)z(al)(l) */
		f->kind = rt & 16 ? CALL : BRANCH;
		f->slot = rt & 2 ? TAKEN_SLOT : SLOT;
	} else if (op >= 4 && op <= 7) {
		f->kind = op == 4 && (w >> 21 & 31) == rt ? JUMP : BRANCH;
		f->slot = SLOT;
	} else if (op >= 20 && op <= 23) {
		f->kind = BRANCH;
		f->slot = TAKEN_SLOT;
	} else if ((op == 17 || op == 18) && (w >> 21 & 31) == 8) {
		f->kind = BRANCH;
		f->slot = w >> 17 & 1 ? TAKEN_SLOT : SLOT;
	}
	return 1;
}

/* arithmetic is of the instructions with three registers. */
static void arithmetic(struct path *p, uint32_t w)
{
	uint32_t function = w & 63;
	int rs = number(w >> 21), rt = number(w >> 16), rd = number(w >> 11);

	if (function == 0x21 || function == 0x2d || function == 0x25) { /* addu, daddu, or */
		if ((w >> 16 & 31) == 0)
			code_add(p, rd, rs, 0);
		else if ((w >> 21 & 31) == 0)
			code_add(p, rd, rt, 0);
		else if (function != 0x25)
			code_sum(p, rd, rs, rt, 1);
		else
			code_forget(p, rd);
	} else if (function == 0x23 || function == 0x2f) /* subu, dsubu */
		code_sum(p, rd, rs, rt, -1);
	else
		code_forget(p, rd);
}

void code_effect(struct path *p, bs_word pc)
{
	uint32_t w, op;
	int rs, rt;
	int32_t n;

	if (!code_fetch(p, pc, 4, &w))
		return;
	op = w >> 26;
	rs = number(w >> 21);
	rt = number(w >> 16);
	n = (int32_t)(int16_t)w;
	if (op == 0)
		arithmetic(p, w);
	else if (op == 9 || op == 25) { /* addiu, daddiu */
		if ((w >> 21 & 31) == 0)
			code_number(p, rt, n);
		else
			code_add(p, rt, rs, n);
	} else if (op == 13 && rs >= 0 && rs == rt && p->r[rs].kind == NUMBER) /* ori */
		p->r[rt].n |= (int32_t)(w & 0xffff);
	else if (op == 13 && (w >> 21 & 31) == 0)
		code_number(p, rt, (int32_t)(w & 0xffff));
	else if (op == 15)
		code_number(p, rt, (int32_t)(w << 16));
	else if (op == (BS_WORD == 8 ? 55u : 35u)) /* ld, lw */
		code_load(p, rt, rs, n);
	else if (op == (BS_WORD == 8 ? 63u : 43u)) /* sd, sw */
		code_store(p, rt, rs, n);
	else if (op == 28 || op == 31) {
		code_forget(p, number(w >> 11));
		code_forget(p, rt);
	} else if ((op >= 8 && op <= 15) || op == 24 || op == 26 || op == 27 || (op >= 32 && op <= 39) || op == 48 || op == 52 || op == 55 ||
		   ((op == 16 || op == 17) && (w >> 21 & 31) < 4))
		code_forget(p, rt);
}

#endif
