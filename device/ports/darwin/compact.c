#include "compact.h"

#if BS_MACHINE == BS_X86_64 || BS_MACHINE == BS_AARCH64

enum { REGULAR = 2, COMPRESSED = 3, INDEX_SIZE = 12, OFFSET_MASK = 0xffffff };

/* number reads 2 or 4 bytes at an offset, 0 where the section has none. */
static uint32_t number(const struct bs_darwin_unwind *u, size_t at, unsigned bytes)
{
	uint32_t v = 0;

	if (at > u->size || u->size - at < bytes)
		return 0;
	while (bytes-- > 0)
		v = v << 8 | u->info[at + bytes];
	return v;
}

/* last is the index of the last of count entries of so many bytes whose offset, within mask, is not above; count: none is. */
static uint32_t last(const struct bs_darwin_unwind *u, size_t at, uint32_t count, uint32_t size, uint32_t mask, uint32_t offset)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if ((number(u, at + (size_t)middle * size, 4) & mask) <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? low - 1 : count;
}

/* encoding_of finds the encoding of an offset in the image, and where its function begins; 0: none. */
static uint32_t encoding_of(const struct bs_darwin_unwind *u, uint32_t offset, uint32_t *begin)
{
	uint32_t common = number(u, 4, 4), commons = number(u, 8, 4), index = number(u, 20, 4), count = number(u, 24, 4);
	uint32_t i, page, first, entries, entry, kind;

	if (number(u, 0, 4) != 1 || count > u->size / INDEX_SIZE)
		return 0;
	i = last(u, index, count, INDEX_SIZE, ~0u, offset);
	if (i + 1 >= count) /* the last one only says where code ends */
		return 0;
	first = number(u, index + (size_t)i * INDEX_SIZE, 4);
	page = number(u, index + (size_t)i * INDEX_SIZE + 4, 4);
	kind = number(u, page, 4);
	entries = page + number(u, (size_t)page + 4, 2);
	count = number(u, (size_t)page + 6, 2);
	if (page == 0)
		return 0;
	if (kind == REGULAR) {
		i = last(u, entries, count, 8, ~0u, offset);
		*begin = number(u, entries + (size_t)i * 8, 4);
		return i < count ? number(u, entries + (size_t)i * 8 + 4, 4) : 0;
	}
	i = last(u, entries, count, 4, OFFSET_MASK, offset - first);
	if (kind != COMPRESSED || i == count)
		return 0;
	entry = number(u, entries + (size_t)i * 4, 4);
	*begin = first + (entry & OFFSET_MASK);
	i = entry >> 24;
	if (i < commons)
		return number(u, common + (size_t)i * 4, 4);
	i -= commons;
	return i < number(u, (size_t)page + 10, 2) ? number(u, page + number(u, (size_t)page + 8, 2) + (size_t)i * 4, 4) : 0;
}

static void frame(struct bs_rule *rule, int base, int32_t words)
{
	rule->base = (uint8_t)base;
	rule->offset = words;
	rule->ra = -1;
}

#if BS_MACHINE == BS_AARCH64

/* decode reads an encoding: a frame record at x29, or a size and the return address in x30; pairs of registers lie below. */
static int decode(const struct bs_darwin_unwind *u, uint32_t e, uint32_t begin, struct bs_rule *rule)
{
	enum { X19 = 3, PAIRS = 5 };
	int i;
	int16_t at = 0;

	(void)u, (void)begin;
	if ((e >> 24 & 15) == 4) {
		frame(rule, BS_FP, 2);
		rule->slot[BS_FP] = at = -2;
	} else if ((e >> 24 & 15) == 2) {
		frame(rule, BS_SP, (int32_t)(e >> 12 & 0xfff) * 2);
		rule->flags |= BS_RA_REGISTER;
		rule->ra = BS_LR;
	} else
		return 0;
	for (i = 0; i < PAIRS; i++)
		if (e >> i & 1) {
			rule->slot[X19 + 2 * i] = --at;
			rule->slot[X19 + 2 * i + 1] = --at;
		}
	return 1;
}

#else

/* The registers that encodings number from 1 on, as tables have them: rbx, r12 to r15, rbp. */
static const uint8_t registers[7] = {0, 3, 12, 13, 14, 15, 6};

/* framed reads the encoding of a function with a frame pointer: where below it registers are saved, and which, upwards. */
static int framed(uint32_t e, struct bs_rule *rule)
{
	int i, at = -2 - (int)(e >> 16 & 0xff);
	uint32_t n;

	frame(rule, BS_FP, 2);
	rule->slot[BS_FP] = -2;
	for (i = 0; i < 5; i++, at++) {
		n = e >> 3 * i & 7;
		if (n > 6)
			return 0;
		if (n > 0)
			rule->slot[registers[n]] = (int16_t)at;
	}
	return 1;
}

/* frameless reads the encoding of a function without: registers are saved right below the return address, in an order that has a
 * number, whose digits have the bases 6, 5, 4, 3, 2. */
static int frameless(uint32_t e, int32_t words, struct bs_rule *rule)
{
	uint32_t count = e >> 10 & 7, order = e & 0x3ff, digit[6] = {0}, used = 0, i, n;
	int at = -1 - (int)count;

	if (count > 6 || words < (int32_t)count + 1)
		return 0;
	for (i = count < 5 ? count : 5; i-- > 0; order /= 6 - i)
		digit[i] = order % (6 - i);
	if (order != 0)
		return 0;
	frame(rule, BS_SP, words);
	for (i = 0; i < count; i++, at++) {
		for (n = 1; n <= 6; n++)
			if (!(used >> n & 1) && digit[i]-- == 0)
				break;
		used |= 1u << n;
		rule->slot[registers[n]] = (int16_t)at;
	}
	return 1;
}

static int decode(const struct bs_darwin_unwind *u, uint32_t e, uint32_t begin, struct bs_rule *rule)
{
	const uint8_t *size = (const uint8_t *)(uintptr_t)(u->base + begin + (e >> 16 & 0xff)); /* the operand of its sub */
	uint32_t bytes;

	switch (e >> 24 & 15) {
	case 1: return framed(e, rule);
	case 2: return frameless(e, (int32_t)(e >> 16 & 0xff), rule);
	case 3:
		if ((uintptr_t)size < u->low || (uintptr_t)size > u->high - 4)
			return 0;
		bytes = size[0] | (uint32_t)size[1] << 8 | (uint32_t)size[2] << 16 | (uint32_t)size[3] << 24;
		return bytes % BS_WORD != 0 || bytes >= 1u << 31 ? 0 : frameless(e, (int32_t)(bytes / BS_WORD + (e >> 13 & 7)), rule);
	}
	return 0;
}

#endif

int bs_darwin_by_compact(const struct bs_darwin_unwind *u, bs_word at, int exact, struct bs_rule *rule)
{
	uint32_t begin = 0, e;
	int i;

	if (at < u->low || at >= u->high || at - u->base > 0xffffffffu)
		return 0;
	e = encoding_of(u, (uint32_t)(at - u->base), &begin);
	rule->flags = exact ? BS_GUESSED : 0;
	for (i = 0; i < 16; i++)
		rule->slot[i] = (int16_t)(BS_PRESERVED >> i & 1 ? BS_KEPT : BS_LOST);
	return decode(u, e, begin, rule);
}

#endif
