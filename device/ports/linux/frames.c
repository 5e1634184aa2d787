/* Rules out of .eh_frame_hdr and .eh_frame, in place (DWARF 5, 6.4; LSB 5, 10.6). Nothing is read outside of the module's image,
 * and nothing is believed: what is not understood is no rule. */
#include "rules.h"

#if BS_MACHINE != BS_ARM

#include <string.h>

enum { RA = 16, COLUMNS = 17, DEEPEST = 4 };

struct bytes {
	const uint8_t *at, *end;
	int bad;
};

static uint32_t byte(struct bytes *b)
{
	if (b->at < b->end)
		return *b->at++;
	b->bad = 1;
	return 0;
}

static bs_word fixed(struct bytes *b, unsigned size)
{
	uint16_t two;
	uint32_t four;
	uint64_t eight;
	const uint8_t *at = b->at;

	if ((size_t)(b->end - at) < size) {
		b->bad = 1;
		return 0;
	}
	b->at += size;
	switch (size) {
	case 1: return *at;
	case 2: memcpy(&two, at, 2); return two;
	case 4: memcpy(&four, at, 4); return four;
	default: memcpy(&eight, at, 8); return (bs_word)eight;
	}
}

/* leb reads a LEB128 number. */
static int64_t leb(struct bytes *b, int is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint32_t c;

	do {
		c = byte(b);
		if (shift < 64)
			v |= (uint64_t)(c & 127) << shift;
		shift += 7;
	} while ((c & 128) && !b->bad);
	if (is_signed && (c & 64) && shift < 64)
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

/* pointer reads an encoded pointer (LSB 5, 10.5); data is what it may be relative to. */
static bs_word pointer(struct bytes *b, uint32_t encoding, bs_word data)
{
	bs_word from = (bs_word)(uintptr_t)b->at, v = 0;

	switch (encoding & 15) {
	case 0: v = fixed(b, sizeof(void *)); break;
	case 1: v = (bs_word)leb(b, 0); break;
	case 2: v = fixed(b, 2); break;
	case 3: v = fixed(b, 4); break;
	case 4: case 12: v = fixed(b, 8); break;
	case 9: v = (bs_word)leb(b, 1); break;
	case 10: v = (bs_word)(int64_t)(int16_t)fixed(b, 2); break;
	case 11: v = (bs_word)(int64_t)(int32_t)fixed(b, 4); break;
	default: b->bad = 1;
	}
	switch (encoding & 0xf0) {
	case 0: return v;
	case 0x10: return v + from;
	case 0x30: return v + data;
	default: b->bad = 1; return 0;
	}
}

/* number_of is a register's number in tables; RA where a call has its own column; -1: none. */
static int number_of(int64_t r)
{
#if BS_MACHINE == BS_MIPS
	return r >= 16 && r <= 25 ? (int)r - 16 : r == 1 ? 10 : r == 15 ? 11 : r >= 28 && r <= 31 ? (int)r - 16 : -1;
#elif BS_MACHINE == BS_AARCH64
	return r >= 16 && r <= 31 ? (int)r - 16 : -1;
#elif BS_MACHINE == BS_RISCV
	return r == 1 || r == 2 ? (int)r - 1 : r == 5 ? 2 : r == 8 || r == 9 ? (int)r - 5 : r >= 18 && r <= 27 ? (int)r - 13 : -1;
#elif BS_MACHINE == BS_X86_64
	return r >= 0 && r <= 16 ? (int)r : -1;
#else
	return r >= 0 && r <= 7 ? (int)r : r == 8 ? RA : -1;
#endif
}

/* A row of the table: the CFA, and where each register is, RA behind them. */
struct row {
	int base, load, below, ra_register;
	int64_t offset;
	int16_t slot[COLUMNS];
};

struct program {
	struct row row, first, kept[DEEPEST];
	int depth;
	int64_t code_align, data_align;
	uint32_t encoding;
	int return_column, augmented, signal;
	bs_word at, location;
};

/* What an expression computes: a register or none (-1), and a number above it; load: the word there. */
struct value {
	int base, load;
	int64_t n;
};

/* evaluate runs an expression, as far as it is one of those that compilers make of a frame. */
static int evaluate(const struct program *p, struct bytes *b, struct value *result)
{
	struct value stack[DEEPEST + 1], *top = stack;
	uint32_t op;

	memset(stack, 0, sizeof stack);
	stack[0].base = -1;
	while (b->at < b->end && !b->bad) {
		op = byte(b);
		if ((op >= 0x30 && op <= 0x4f) || op == 0x08 || op == 0x09 || (op >= 0x70 && op <= 0x8f)) {
			if (top == stack + DEEPEST)
				return 0;
			top++;
			top->load = 0;
			top->base = -1;
			if (op >= 0x70) { /* DW_OP_breg */
				top->n = leb(b, 1);
				top->base = number_of(op - 0x70);
				if (top->base < 0)
					return 0;
				if (BS_MACHINE == BS_X86_64 && top->base == RA) {
					top->base = -1;
					top->n += (int64_t)p->at;
				}
			} else
				top->n = op >= 0x30 ? (int64_t)op - 0x30 : op == 8 ? (int64_t)byte(b) : (int64_t)(int8_t)byte(b);
			continue;
		}
		if (top == stack || top->load)
			return 0;
		if (op == 0x06) { /* DW_OP_deref */
			top->load = 1;
			continue;
		}
		if (op == 0x23) { /* DW_OP_plus_uconst */
			top->n += leb(b, 0);
			continue;
		}
		if (top - stack < 2 || top[-1].load || top->base >= 0)
			return 0;
		top--;
		switch (op) {
		case 0x22: top->n += top[1].n; break;
		case 0x1c: top->n -= top[1].n; break;
		case 0x1a: top->n &= top[1].n; break;
		case 0x24: top->n = top[1].n >= 0 && top[1].n < 8 ? top->n * (1 << top[1].n) : 0; break;
		case 0x2a: top->n = top->n >= top[1].n; break;
		default: return 0;
		}
		if (op != 0x22 && op != 0x1c && top->base >= 0)
			return 0;
	}
	*result = *top;
	return top == stack + 1 && !b->bad;
}

/* block is what a length stands before. */
static struct bytes block(struct bytes *b)
{
	uint64_t size = (uint64_t)leb(b, 0);
	struct bytes inner = *b;

	if (size > (uint64_t)(b->end - b->at)) {
		b->bad = 1;
		size = 0;
	}
	inner.end = inner.at + size;
	b->at = inner.end;
	return inner;
}

/* slot_of is where the row has a register, 0 where tables do not name it. */
static int16_t *slot_of(struct row *row, const struct program *p, int64_t r)
{
	int number = r == p->return_column ? RA : number_of(r);
	return number < 0 ? 0 : &row->slot[number];
}

static void set_kind(struct program *p, int64_t r, int kind)
{
	int16_t *slot = slot_of(&p->row, p, r);
	if (slot)
		*slot = (int16_t)kind;
}

/* set says where a register is, in bytes above the CFA. */
static void set(struct program *p, int64_t r, int64_t offset)
{
	int64_t slot = offset / BS_WORD;
	set_kind(p, r, offset % BS_WORD == 0 && slot > BS_KEPT && slot < BS_LOST ? (int)slot : BS_LOST);
}

/* restore says that a register is where the CIE has it. */
static void restore(struct program *p, int64_t r)
{
	int16_t *slot = slot_of(&p->first, p, r);

	if (slot)
		set_kind(p, r, *slot);
	if (r == p->return_column)
		p->row.ra_register = p->first.ra_register;
}

/* in_register handles DW_CFA_register. */
static void in_register(struct program *p, struct bytes *b)
{
	int64_t r = leb(b, 0), other = leb(b, 0);

	set_kind(p, r, r == p->return_column ? BS_KEPT : BS_LOST);
	if (r == p->return_column)
		p->row.ra_register = number_of(other);
}

/* computed handles DW_CFA_def_cfa_expression, and DW_CFA_expression of a register (or -1). */
static int computed(struct program *p, struct bytes *b, int64_t r)
{
	struct bytes text = block(b);
	struct value v;

	if (!evaluate(p, &text, &v) || v.base < 0 || v.base == RA)
		return r >= 0 && (set_kind(p, r, BS_LOST), 1);
	if (r < 0) {
		p->row.base = v.base;
		p->row.offset = v.n;
		p->row.load = v.load;
		return 1;
	}
	set(p, r, v.n);
	if (v.load || v.base != p->row.base || r == p->return_column)
		set_kind(p, r, BS_LOST);
	p->row.below = 1;
	return 1;
}

/* run executes instructions up to the location; false: there is one that is not known. */
static int run(struct program *p, struct bytes b)
{
	int64_t r;

	while (b.at < b.end && !b.bad && p->location <= p->at) {
		uint32_t op = byte(&b), low = op & 63;
		switch (op >> 6) {
		case 1: p->location += (bs_word)(low * p->code_align); continue;
		case 2: set(p, low, leb(&b, 0) * p->data_align); continue;
		case 3: restore(p, low); continue;
		}
		switch (op) {
		case 0x00: break;
		case 0x01: p->location = pointer(&b, p->encoding, 0); break;
		case 0x02: p->location += (bs_word)((int64_t)fixed(&b, 1) * p->code_align); break;
		case 0x03: p->location += (bs_word)((int64_t)fixed(&b, 2) * p->code_align); break;
		case 0x04: p->location += (bs_word)((int64_t)fixed(&b, 4) * p->code_align); break;
		case 0x05: r = leb(&b, 0); set(p, r, leb(&b, 0) * p->data_align); break;
		case 0x06: restore(p, leb(&b, 0)); break;
		case 0x07: set_kind(p, leb(&b, 0), BS_LOST); break;
		case 0x08: set_kind(p, leb(&b, 0), BS_KEPT); break;
		case 0x09: in_register(p, &b); break;
		case 0x0a:
			if (p->depth == DEEPEST)
				return 0;
			p->kept[p->depth++] = p->row;
			break;
		case 0x0b:
			if (p->depth == 0)
				return 0;
			p->row = p->kept[--p->depth];
			break;
		case 0x0c: case 0x12:
			p->row.base = number_of(leb(&b, 0));
			p->row.offset = op == 0x0c ? leb(&b, 0) : leb(&b, 1) * p->data_align;
			p->row.load = 0;
			break;
		case 0x0d: p->row.base = number_of(leb(&b, 0)); break;
		case 0x0e: p->row.offset = leb(&b, 0); break;
		case 0x13: p->row.offset = leb(&b, 1) * p->data_align; break;
		case 0x0f:
			if (!computed(p, &b, -1))
				return 0;
			break;
		case 0x10:
			r = leb(&b, 0);
			computed(p, &b, r);
			break;
		case 0x11: r = leb(&b, 0); set(p, r, leb(&b, 1) * p->data_align); break;
		case 0x14: case 0x15: set_kind(p, leb(&b, 0), BS_LOST); leb(&b, op == 0x15); break;
		case 0x16: r = leb(&b, 0); block(&b); set_kind(p, r, BS_LOST); break;
		case 0x2d: break; /* the return address is signed from here on, or no more */
		case 0x2e: leb(&b, 0); break;
		default: return 0;
		}
	}
	return !b.bad;
}

/* entry is the CIE or the FDE at an address: what stands behind its length. */
static int entry(const struct bs_linux_module *m, const uint8_t *at, struct bytes *b)
{
	bs_word size;

	b->at = at;
	b->end = (const uint8_t *)(uintptr_t)m->image_high;
	b->bad = (uintptr_t)at < (uintptr_t)m->image_low || at >= b->end;
	size = b->bad ? 0 : fixed(b, 4);
	if (b->bad || size == 0 || size > (bs_word)(b->end - b->at))
		return 0;
	b->end = b->at + size;
	return 1;
}

/* common reads a CIE. */
static int common(const struct bs_linux_module *m, const uint8_t *at, struct program *p)
{
	struct bytes b;
	const uint8_t *letters, *behind = 0;
	uint32_t version, i;

	if (!entry(m, at, &b) || fixed(&b, 4) != 0)
		return 0;
	version = byte(&b);
	for (letters = b.at; byte(&b) != 0 && !b.bad;)
		;
	p->code_align = leb(&b, 0);
	p->data_align = leb(&b, 1);
	p->return_column = version == 1 ? (int)byte(&b) : (int)leb(&b, 0);
	if (b.bad || (version != 1 && version != 3))
		return 0;
	for (; *letters; letters++)
		switch (*letters) {
		case 'z':
			p->augmented = 1;
			i = (uint32_t)leb(&b, 0);
			if (i > (size_t)(b.end - b.at))
				return 0;
			behind = b.at + i;
			break;
		case 'R': p->encoding = byte(&b); break;
		case 'P': i = byte(&b); pointer(&b, i & 0x7f, 0); break;
		case 'L': byte(&b); break;
		case 'S': p->signal = 1; break;
		case 'B': break;
		default: return 0;
		}
	if (behind)
		b.at = behind;
	for (i = 0; i < COLUMNS; i++)
		p->row.slot[i] = (int16_t)(BS_PRESERVED >> i & 1 ? BS_KEPT : BS_LOST);
	p->row.base = -1;
	p->row.ra_register = number_of(p->return_column);
	p->row.slot[RA] = BS_KEPT;
	return run(p, b);
}

/* description finds the FDE of an address by the sorted table. */
static const uint8_t *description(const struct bs_linux_module *m, bs_word at)
{
	struct bytes b;
	bs_word header = (bs_word)(uintptr_t)m->frames, count, low = 0, high, end = (bs_word)(uintptr_t)m->frames + m->frames_size;
	uint32_t version, to_frames, count_encoding, encoding;
	int32_t pair[2];

	b.at = m->frames;
	b.end = (const uint8_t *)(uintptr_t)end;
	b.bad = 0;
	version = byte(&b);
	to_frames = byte(&b);
	count_encoding = byte(&b);
	encoding = byte(&b);
	pointer(&b, to_frames, header);
	count = pointer(&b, count_encoding, header);
	if (b.bad || version != 1 || encoding != 0x3b || count > (bs_word)(b.end - b.at) / sizeof pair)
		return 0;
	for (high = count; low < high;) {
		bs_word middle = (low + high) / 2;
		memcpy(pair, b.at + middle * sizeof pair, sizeof pair);
		if (header + (bs_word)(int64_t)pair[0] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return 0;
	memcpy(pair, b.at + (low - 1) * sizeof pair, sizeof pair);
	return m->frames + pair[1];
}

/* finish makes a rule of a row. */
static int finish(const struct program *p, struct bs_rule *rule)
{
	const struct row *row = &p->row;
	int64_t words = row->offset / BS_WORD;
	int i;

	if (row->slot[RA] == BS_LOST) { /* DW_CFA_undefined */
		memset(rule, 0, sizeof *rule);
		rule->flags = BS_OUTERMOST;
		return 1;
	}
	if (row->base < 0 || row->base == RA || row->offset % BS_WORD != 0 || words != (int32_t)words)
		return 0;
	rule->base = (uint8_t)row->base;
	rule->offset = (int32_t)words;
	rule->flags = (uint8_t)((row->load ? BS_LOAD : 0) | (row->below ? BS_BELOW : 0));
	rule->ra = row->slot[RA];
	if (row->slot[RA] == BS_KEPT) {
		if (row->ra_register < 0 || row->ra_register >= RA)
			return 0;
		rule->flags |= BS_RA_REGISTER;
		rule->ra = (int16_t)row->ra_register;
	}
	for (i = 0; i < 16; i++)
		rule->slot[i] = row->slot[i];
	return 1;
}

int bs_linux_by_frames(const struct bs_linux_module *m, bs_word at, struct bs_rule *rule)
{
	const uint8_t *fde = m->frames && m->frames_size >= 12 ? description(m, at) : 0;
	struct program p;
	struct bytes b;
	bs_word begin, back, size;
	const uint8_t *field;

	if (!fde || !entry(m, fde, &b))
		return 0;
	memset(&p, 0, sizeof p);
	p.at = at;
	field = b.at;
	back = fixed(&b, 4);
	if (b.bad || back == 0 || back > (bs_word)((uintptr_t)field - (uintptr_t)m->image_low) || !common(m, field - back, &p) || p.signal)
		return 0;
	begin = pointer(&b, p.encoding & 0x7f, 0);
	size = pointer(&b, p.encoding & 15, 0);
	if (b.bad || at - begin >= size)
		return 0;
	if (p.augmented)
		block(&b);
	p.first = p.row;
	p.location = begin;
	return run(&p, b) && finish(&p, rule);
}

#endif
