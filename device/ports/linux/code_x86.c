/* x86-64 and i386: how long an instruction is, what it does to control and, as far as frames are made of that, to registers. */
#include "code.h"

#if BS_MACHINE == BS_X86_64 || BS_MACHINE == BS_I386

enum { WIDE = BS_MACHINE == BS_X86_64, LONGEST = 15, FORM = 0x0f38, FORM_IMMEDIATE = 0x0f3a, VECTOR = 0x10000 };

/* An instruction. op: one byte; behind 0x0f, 0x0f00 and the byte; of the two maps of three bytes the map alone; VECTOR with VEX. */
struct insn {
	uint8_t bytes[LONGEST + 1];
	unsigned size, op;
	int has_modrm, mod, reg, rm, base, index, native; /* base, index: -1 for none; native: of a register's size */
	int32_t displacement, immediate;
};

/* number is what tables call a register. */
static int number(int r)
{
	static const uint8_t dwarf[8] = {0, 2, 1, 3, 7, 6, 4, 5};
	return WIDE && r < 8 ? dwarf[r] : r;
}

static int32_t little(const uint8_t *p, unsigned size)
{
	uint32_t v = 0;
	unsigned i;

	for (i = 0; i < size; i++)
		v |= (uint32_t)p[i] << 8 * i;
	return size == 1 ? (int8_t)v : size == 2 ? (int16_t)v : (int32_t)v;
}

/* fetch reads what is there; where memory ends, zeros. */
static int fetch(const struct path *p, bs_word at, uint8_t *to)
{
	bs_word word;
	unsigned i;

	for (i = 0; i <= LONGEST; i++) {
		bs_word from = (at + i) & ~(bs_word)(BS_WORD - 1);
		if ((i == 0 || from == at + i) && !bs_linux_read(p->pages, from, &word)) {
			if (i == 0)
				return 0;
			word = 0;
		}
		to[i] = (uint8_t)(word >> (at + i - from) * 8);
	}
	return 1;
}

/* of tells whether a bit is set for an opcode in 256 bits. */
static int of(const uint32_t *bits, unsigned op) { return bits[op >> 5 & 7] >> (op & 31) & 1; }

/* modrm reads the operand in a register or memory. */
static void modrm(struct insn *x, unsigned rex, int short_address)
{
	uint8_t m = x->bytes[x->size++], sib;
	unsigned bytes;

	x->has_modrm = 1;
	x->mod = m >> 6;
	x->reg = (m >> 3 & 7) | (int)(rex << 1 & 8);
	x->rm = (m & 7) | (int)(rex << 3 & 8);
	if (x->mod == 3)
		return;
	bytes = x->mod == 1 ? 1 : x->mod == 2 ? 4 : 0;
	if (short_address) {
		x->size += x->mod == 1 ? 1 : x->mod == 2 || (m & 7) == 6 ? 2 : 0;
		return;
	}
	x->base = x->rm;
	if ((m & 7) == 4) {
		sib = x->bytes[x->size++];
		x->base = (sib & 7) | (int)(rex << 3 & 8);
		x->index = (sib >> 3 & 7) | (int)(rex << 2 & 8);
		if (x->index == 4)
			x->index = -1;
		if ((sib & 7) == 5 && x->mod == 0) {
			x->base = -1;
			bytes = 4;
		}
	} else if ((m & 7) == 5 && x->mod == 0) {
		x->base = -1;
		bytes = 4;
	}
	x->displacement = bytes ? little(x->bytes + x->size, bytes) : 0;
	x->size += bytes;
}

/* prefixed skips VEX or EVEX, and returns the opcode. */
static unsigned prefixed(struct insn *x, unsigned *rex)
{
	uint8_t first = x->bytes[x->size - 1], map = 1;

	if (first == 0xc5)
		*rex = (x->bytes[x->size++] & 0x80) ? 0 : 4;
	else {
		*rex = ~(unsigned)x->bytes[x->size] >> 5 & 7;
		map = x->bytes[x->size] & 7;
		x->size += first == 0x62 ? 3 : 2;
	}
	if (map == 2 || map == 3) {
		x->size++;
		return VECTOR | (map == 2 ? FORM : FORM_IMMEDIATE);
	}
	return VECTOR | 0x0f00 | x->bytes[x->size++];
}

/* immediate is how many bytes of one stand behind an opcode. */
static unsigned immediate(const struct insn *x, unsigned full, int wide)
{
	static const uint32_t byte_bits[8] = {0x10101010, 0x10101010, 0, 0x00000c00, 0x0000000d, 0x00ff0100, 0x00302043, 0x000000f0};
	static const uint32_t full_bits[8] = {0x20202020, 0x20202020, 0, 0x00000300, 0x00000002, 0x00000200, 0x00000080, 0};
	unsigned op = x->op;

	if (op >= VECTOR || op >= 0x0f00) {
		op &= 0xffff;
		if (op == FORM_IMMEDIATE || op == 0x0f0f || op == 0x0fa4 || op == 0x0fac || op == 0x0fba || op == 0x0fc2 || (op >= 0x0fc4 && op <= 0x0fc6))
			return 1;
		if (op >= 0x0f70 && op <= 0x0f73)
			return 1;
		return x->op >= 0x0f80 && x->op <= 0x0f8f ? full : 0;
	}
	if (op >= 0xb8 && op <= 0xbf)
		return wide ? 8 : full;
	if ((op & 0xf6) == 0xf6 && op <= 0xf7)
		return (x->reg & 6) ? 0 : op == 0xf6 ? 1 : full;
	if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3) || op == 0xeb)
		return 1;
	if (op == 0xe8 || op == 0xe9)
		return WIDE ? 4 : full;
	if (op == 0xc2 || op == 0xca)
		return 2;
	if (op == 0xc8)
		return 3;
	if (op == 0x9a || op == 0xea)
		return full + 2;
	return of(byte_bits, op) ? 1 : of(full_bits, op) ? full : 0;
}

/* with_modrm tells whether an operand in a register or memory stands behind an opcode. */
static int with_modrm(unsigned op)
{
	static const uint32_t one[8] = {0x0f0f0f0f, 0x0f0f0f0f, 0, 0x00000a08 | (WIDE ? 0 : 4), 0x0000ffff, 0, 0xff0f00c3 | (WIDE ? 0 : 0x30), 0xc0c00000};

	if (op == (VECTOR | 0x0f77))
		return 0;
	if (op >= VECTOR || op == FORM || op == FORM_IMMEDIATE)
		return 1;
	if (op < 0x0f00)
		return of(one, op);
	op &= 255;
	return !((op >= 0x05 && op <= 0x0b) || op == 0x0e || (op >= 0x30 && op <= 0x37) || op == 0x77 || (op >= 0x80 && op <= 0x8f) ||
		 (op >= 0xa0 && op <= 0xa2) || (op >= 0xa8 && op <= 0xaa) || (op >= 0xc8 && op <= 0xcf));
}

static int is_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || b == 0xf0 || b == 0xf2 || b == 0xf3 || b == 0x2e || b == 0x36 || b == 0x3e || b == 0x26 || b == 0x64 || b == 0x65;
}

static int decode(const struct path *p, bs_word at, struct insn *x)
{
	unsigned rex = 0, full = 4, bytes;
	int short_address = 0;
	uint8_t op;

	if (!fetch(p, at, x->bytes))
		return 0;
	x->size = 0;
	x->has_modrm = x->mod = x->reg = x->rm = 0;
	x->base = x->index = -1;
	x->displacement = x->immediate = 0;
	for (; x->size < 8 && is_prefix(x->bytes[x->size]); x->size++) {
		full = x->bytes[x->size] == 0x66 ? 2 : full;
		short_address |= x->bytes[x->size] == 0x67 && !WIDE;
	}
	op = x->bytes[x->size++];
	if (WIDE && op >> 4 == 4) {
		rex = op & 15;
		op = x->bytes[x->size++];
	}
	x->native = WIDE ? rex >> 3 != 0 : full == 4;
	x->op = op;
	if ((op == 0xc4 || op == 0xc5 || op == 0x62) && (WIDE || x->bytes[x->size] >> 6 == 3))
		x->op = prefixed(x, &rex);
	else if (op == 0x0f) {
		x->op = 0x0f00 | x->bytes[x->size++];
		if (x->op == FORM || x->op == FORM_IMMEDIATE)
			x->size++;
	}
	if (with_modrm(x->op))
		modrm(x, rex, short_address);
	else
		x->rm = (op & 7) | (int)(rex << 3 & 8);
	bytes = immediate(x, full, rex >> 3 != 0);
	if (x->op >= 0xa0 && x->op <= 0xa3)
		bytes = BS_WORD;
	if (x->size + bytes > LONGEST)
		return 0;
	x->immediate = bytes == 8 ? 0 : bytes ? little(x->bytes + x->size, bytes > 4 ? 4 : bytes) : 0;
	x->size += bytes;
	return 1;
}

int code_flow(const struct path *p, struct flow *f)
{
	struct insn x;
	unsigned op;

	if (!decode(p, p->pc, &x))
		return 0;
	f->kind = NEXT;
	f->slot = NO_SLOT;
	f->size = x.size;
	f->target = p->pc + x.size + (bs_word)(int64_t)x.immediate;
	op = x.op;
	if ((op >= 0x70 && op <= 0x7f) || (op >= 0xe0 && op <= 0xe3) || (op >= 0x0f80 && op <= 0x0f8f))
		f->kind = BRANCH;
	else if (op == 0xe9 || op == 0xeb)
		f->kind = JUMP;
	else if (op == 0xe8) /* a call of the next instruction pushes where that is */
		f->kind = x.immediate == 0 ? NEXT : CALL;
	else if (op == 0xff && (x.reg & 6) == 2)
		f->kind = CALL;
	else if (op == 0xc3 || (op == 0xff && (x.reg & 7) == 4 && x.mod == 0 && x.base < 0 && x.index < 0)) /* a call in the last place, of another module */
		f->kind = RETURN;
	else if (op == 0xc2 || op == 0xca || op == 0xcb || op == 0xcf || op == 0xcc || op == 0xf4 || op == 0xea || (op == 0xff && (x.reg & 6) == 4) ||
		 op == 0x0f0b || op == 0x0fb9 || op == 0x0fff)
		f->kind = DEAD;
	return 1;
}

int code_fills(const struct path *p, bs_word at)
{
	struct insn x;
	return decode(p, at, &x) && (x.op == 0x90 || x.op == 0xcc || x.op == 0x0f1e || x.op == 0x0f1f);
}

static void push(struct path *p, int r)
{
	code_add(p, BS_SP, BS_SP, -BS_WORD);
	code_store(p, r, BS_SP, 0);
}

static void pop(struct path *p, int r)
{
	code_load(p, r, BS_SP, 0);
	if (r != BS_SP)
		code_add(p, BS_SP, BS_SP, BS_WORD);
}

/* group is of the instructions that add an immediate, and their like. */
static void group(struct path *p, const struct insn *x)
{
	int r = number(x->rm);

	if (x->mod != 3 || (x->reg & 7) == 7)
		return;
	if (x->op == 0x80 || !x->native || ((x->reg & 7) != 0 && (x->reg & 7) != 5))
		code_forget(p, r);
	else
		code_add(p, r, r, (x->reg & 7) == 0 ? x->immediate : -x->immediate);
}

/* address computes one. Where a function has aligned its stack, a register holds what the stack pointer is before the call. */
static void address(struct path *p, int to, int base, int32_t n)
{
	if (to == BS_SP && base >= 0 && p->r[base].kind == SAVED && n == -BS_WORD) {
		p->r[to] = p->r[base];
		p->r[to].kind = LOADED;
	} else
		code_add(p, to, base, n);
}

/* move copies between two registers or a register and memory, which other instructions change. */
static void move(struct path *p, const struct insn *x)
{
	int reg = number(x->reg), rm = number(x->rm), base = x->base < 0 || x->index >= 0 ? -1 : number(x->base);
	int to = x->op == 0x89 ? rm : reg;

	if (x->op == 0x89 && x->mod != 3) {
		if (x->native)
			code_store(p, reg, base, x->displacement);
	} else if (!x->native)
		code_forget(p, to);
	else if (x->op == 0x8d)
		address(p, reg, base, x->displacement);
	else if (x->mod == 3)
		code_add(p, to, to == rm ? reg : rm, 0);
	else
		code_load(p, reg, base, x->displacement);
}

void code_effect(struct path *p, bs_word pc)
{
	struct insn x;
	unsigned op;

	if (!decode(p, pc, &x))
		return;
	op = x.op;
	if (op >> 3 == 0x50 >> 3)
		push(p, number(x.rm));
	else if (op >> 3 == 0x58 >> 3)
		pop(p, number(x.rm));
	else if (op == 0x68 || op == 0x6a || op == 0x9c || (op == 0xff && (x.reg & 7) == 6) || op == 0xe8 || op == 0x0fa0 || op == 0x0fa8)
		push(p, -1);
	else if (op == 0x9d || op == 0x8f || op == 0x0fa1 || op == 0x0fa9)
		code_add(p, BS_SP, BS_SP, BS_WORD);
	else if (op == 0xc9) {
		code_add(p, BS_SP, BS_FP, 0);
		pop(p, BS_FP);
	} else if (op == 0x60 || op == 0x61 || op == 0xc8)
		code_forget(p, BS_SP);
	else if (op == 0x89 || op == 0x8b || op == 0x8d)
		move(p, &x);
	else if (op >= 0x80 && op <= 0x83)
		group(p, &x);
	else if (op >> 3 == 0xb8 >> 3)
		code_number(p, number(x.rm), x.immediate);
	else if (op == 0xc7 && x.mod == 3)
		code_number(p, number(x.rm), x.immediate);
	else if (x.native && x.mod == 3 && (op == 0x01 || op == 0x29))
		code_sum(p, number(x.rm), number(x.rm), number(x.reg), op == 0x01 ? 1 : -1);
	else if (x.native && x.mod == 3 && (op == 0x03 || op == 0x2b))
		code_sum(p, number(x.reg), number(x.reg), number(x.rm), op == 0x03 ? 1 : -1);
	else if (op < 0x38 && x.has_modrm) {
		if (op & 2)
			code_forget(p, number(x.reg));
		else if (x.mod == 3)
			code_forget(p, number(x.rm));
	} else if (!WIDE && op >> 4 == 4)
		code_forget(p, number(x.rm));
	else if (op == 0x63 || op == 0x69 || op == 0x6b || op == 0x8a || op == 0x0faf || op >> 4 == 0x0f4 || (op >= 0x0fb6 && op <= 0x0fbe))
		code_forget(p, number(x.reg));
	else if (x.mod == 3 && (op == 0x87 || op == 0x88 || op == 0xc0 || op == 0xc1 || (op >= 0xd0 && op <= 0xd3) || op == 0xf7 || op == 0xff))
		code_forget(p, number(x.rm));
}

#endif
