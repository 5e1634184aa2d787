/* RV32 and RV64, compressed or not. */
#include "code.h"

#if BS_MACHINE == BS_RISCV

static int number(uint32_t r)
{
	r &= 31;
	return r == 1 || r == 2 ? (int)r - 1 : r == 5 ? 2 : r == 8 || r == 9 ? (int)r - 5 : r >= 18 && r <= 27 ? (int)r - 13 : -1;
}

static uint32_t bits(uint32_t w, unsigned low, unsigned count, unsigned to) { return (w >> low & ((1u << count) - 1)) << to; }

static int32_t extended(uint32_t v, unsigned size) { return (int32_t)(v << (32 - size)) >> (32 - size); }

/* immediates of the formats I, S, B, J, CJ, CB */
static int32_t imm_i(uint32_t w) { return (int32_t)w >> 20; }
static int32_t imm_s(uint32_t w) { return extended(bits(w, 25, 7, 5) | bits(w, 7, 5, 0), 12); }
static int32_t imm_b(uint32_t w) { return extended(bits(w, 31, 1, 12) | bits(w, 7, 1, 11) | bits(w, 25, 6, 5) | bits(w, 8, 4, 1), 13); }
static int32_t imm_j(uint32_t w) { return extended(bits(w, 31, 1, 20) | bits(w, 12, 8, 12) | bits(w, 20, 1, 11) | bits(w, 21, 10, 1), 21); }
static int32_t imm_cj(uint32_t w)
{
	return extended(bits(w, 12, 1, 11) | bits(w, 11, 1, 4) | bits(w, 9, 2, 8) | bits(w, 8, 1, 10) | bits(w, 7, 1, 6) | bits(w, 6, 1, 7) |
			bits(w, 3, 3, 1) | bits(w, 2, 1, 5), 12);
}
static int32_t imm_cb(uint32_t w)
{
	return extended(bits(w, 12, 1, 8) | bits(w, 10, 2, 3) | bits(w, 5, 2, 6) | bits(w, 3, 2, 1) | bits(w, 2, 1, 5), 9);
}
static int32_t imm_ci(uint32_t w) { return extended(bits(w, 12, 1, 5) | bits(w, 2, 5, 0), 6); }

static int fetch(const struct path *p, bs_word at, uint32_t *w, unsigned *size)
{
	if (!code_fetch(p, at, 2, w))
		return 0;
	*size = (*w & 3) == 3 ? 4 : 2;
	return *size == 2 || code_fetch(p, at, 4, w);
}

/* jump is what jr does: return, call of another function in the last place by t1, or nothing that can be known. */
static enum flow_kind jump(uint32_t r) { return r == 1 || r == 6 ? RETURN : DEAD; }

static void narrow(uint32_t w, struct flow *f, bs_word pc)
{
	uint32_t r = w >> 7 & 31, key = (w & 3) << 3 | w >> 13;

	if (key == (1 << 3 | 5) || (key == (1 << 3 | 1) && BS_WORD == 4)) {
		f->kind = key & 4 ? JUMP : CALL;
		f->target = pc + (bs_word)(int64_t)imm_cj(w);
	} else if (key == (1 << 3 | 6) || key == (1 << 3 | 7)) {
		f->kind = BRANCH;
		f->target = pc + (bs_word)(int64_t)imm_cb(w);
	} else if (key == (2 << 3 | 4) && (w >> 2 & 31) == 0)
		f->kind = r == 0 ? DEAD : w >> 12 & 1 ? CALL : jump(r);
	else if (w == 0)
		f->kind = DEAD;
}

int code_flow(const struct path *p, struct flow *f)
{
	uint32_t w, rd;

	f->kind = NEXT;
	f->slot = NO_SLOT;
	f->target = 0;
	if (!fetch(p, p->pc, &w, &f->size))
		return 0;
	rd = w >> 7 & 31;
	if (f->size == 2)
		narrow(w, f, p->pc);
	else if ((w & 127) == 0x6f) {
		f->kind = rd == 0 ? JUMP : rd == 1 ? CALL : DEAD;
		f->target = p->pc + (bs_word)(int64_t)imm_j(w);
	} else if ((w & 127) == 0x67)
		f->kind = rd == 0 ? jump(w >> 15 & 31) : rd == 1 ? CALL : DEAD;
	else if ((w & 127) == 0x63) {
		f->kind = BRANCH;
		f->target = p->pc + (bs_word)(int64_t)imm_b(w);
	} else if (w == 0x00100073) /* ebreak */
		f->kind = DEAD;
	return 1;
}

static void narrow_effect(struct path *p, uint32_t w)
{
	int rd = number(w >> 7), small = number((w >> 2 & 7) + 8), base = number((w >> 7 & 7) + 8);
	int32_t word_at = BS_WORD == 8 ? (int32_t)(bits(w, 10, 3, 3) | bits(w, 5, 2, 6)) : (int32_t)(bits(w, 10, 3, 3) | bits(w, 6, 1, 2) | bits(w, 5, 1, 6));
	const uint32_t load = BS_WORD == 8 ? 3 : 2;

	switch ((w & 3) << 3 | w >> 13) {
	case 0: code_add(p, small, BS_SP, (int32_t)(bits(w, 11, 2, 4) | bits(w, 7, 4, 6) | bits(w, 6, 1, 2) | bits(w, 5, 1, 3))); break;
	case 2: case 3:
		if (w >> 13 == load)
			code_load(p, small, base, word_at);
		else if (BS_WORD == 8)
			code_forget(p, small);
		break;
	case 6: case 7:
		if ((w >> 13 & 3) == load)
			code_store(p, small, base, word_at);
		break;
	case 8: code_add(p, rd, rd, imm_ci(w)); break;
	case 10: code_number(p, rd, imm_ci(w)); break;
	case 11:
		if (rd == BS_SP)
			code_add(p, rd, rd, extended(bits(w, 12, 1, 9) | bits(w, 6, 1, 4) | bits(w, 5, 1, 6) | bits(w, 3, 2, 7) | bits(w, 2, 1, 5), 10));
		else
			code_number(p, rd, imm_ci(w) * 4096);
		break;
	case 12: code_forget(p, base); break;
	case 9: case 16: code_forget(p, rd); break;
	case 18: case 19:
		if ((w >> 13 & 3) == load)
			code_load(p, rd, BS_SP, BS_WORD == 8 ? (int32_t)(bits(w, 12, 1, 5) | bits(w, 5, 2, 3) | bits(w, 2, 3, 6))
							     : (int32_t)(bits(w, 12, 1, 5) | bits(w, 4, 3, 2) | bits(w, 2, 2, 6)));
		else if (BS_WORD == 8)
			code_forget(p, rd);
		break;
	case 20:
		if (w >> 12 & 1)
			code_sum(p, rd, rd, number(w >> 2), 1);
		else
			code_add(p, rd, number(w >> 2), 0);
		break;
	case 22: case 23:
		if ((w >> 13 & 3) == load)
			code_store(p, number(w >> 2), BS_SP, BS_WORD == 8 ? (int32_t)(bits(w, 10, 3, 3) | bits(w, 7, 3, 6)) : (int32_t)(bits(w, 9, 4, 2) | bits(w, 7, 2, 6)));
		break;
	}
}

void code_effect(struct path *p, bs_word pc)
{
	uint32_t w, function;
	unsigned size;
	int rd, a, b;

	if (!fetch(p, pc, &w, &size))
		return;
	if (size == 2) {
		narrow_effect(p, w);
		return;
	}
	rd = number(w >> 7);
	a = number(w >> 15);
	b = number(w >> 20);
	function = w >> 12 & 7;
	switch (w & 127) {
	case 0x13: case 0x1b:
		if (function == 0 && (w >> 15 & 31) == 0)
			code_number(p, rd, imm_i(w));
		else if (function == 0 && ((w & 127) == 0x13 || (a >= 0 && p->r[a].kind == NUMBER)))
			code_add(p, rd, a, imm_i(w));
		else
			code_forget(p, rd);
		break;
	case 0x33:
		if (function == 0 && (w >> 25 & 0x5f) == 0)
			code_sum(p, rd, a, b, w >> 30 & 1 ? -1 : 1);
		else
			code_forget(p, rd);
		break;
	case 0x37: code_number(p, rd, (int32_t)(w & 0xfffff000)); break;
	case 0x03:
		if (function == (BS_WORD == 8 ? 3 : 2))
			code_load(p, rd, a, imm_i(w));
		else
			code_forget(p, rd);
		break;
	case 0x23:
		if (function == (BS_WORD == 8 ? 3 : 2))
			code_store(p, b, a, imm_s(w));
		break;
	case 0x63: case 0x07: case 0x27: case 0x0f: break;
	default: code_forget(p, rd);
	}
}

#endif
