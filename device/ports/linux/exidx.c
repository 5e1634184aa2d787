/* Rules out of .ARM.exidx and .ARM.extab, in place (IHI 0038, 9 and 10). They hold where calls return to, not in prologues and
 * epilogues. */
#include "rules.h"

#if BS_MACHINE == BS_ARM

#include <string.h>

enum { CANNOT_UNWIND = 1, MOST_WORDS = 16 };

/* Where the virtual stack pointer is, in words above a register, and the instructions, from the highest byte of each word. */
struct frame {
	int32_t at;
	int base;
	const uint32_t *words;
	unsigned next, end;
	struct bs_rule *rule;
};

/* relative is the address that the lower 31 bits of a word are relative to the word. */
static bs_word relative(const uint32_t *word) { return (bs_word)(uintptr_t)word + (*word << 1 >> 1 | (*word & 0x40000000u) << 1); }

static uint32_t byte(struct frame *f)
{
	uint32_t i = f->next++;
	return i < f->end ? f->words[i / 4] >> (24 - 8 * (i % 4)) & 255 : 0xb0; /* finish */
}

static void pop(struct frame *f, uint32_t mask)
{
	int r;

	for (r = 0; r < 16; r++)
		if (mask >> r & 1)
			f->rule->slot[r] = (int16_t)f->at++;
}

/* execute runs instructions up to the last. */
static int execute(struct frame *f)
{
	uint32_t op, more, shift;

	while ((op = byte(f)) != 0xb0) {
		if (op < 0x40)
			f->at += (int32_t)op + 1;
		else if (op < 0x80)
			f->at -= (int32_t)(op & 63) + 1;
		else if (op < 0x90) {
			op = (op & 15) << 8 | byte(f);
			if (op == 0)
				return 0;
			pop(f, op << 4);
		} else if (op < 0xa0) {
			if (op == 0x9d || op == 0x9f)
				return 0;
			f->base = (int)(op & 15);
			f->at = 0;
		} else if (op < 0xb0)
			pop(f, ((2u << (op & 7)) - 1) << 4 | (op & 8) << 11);
		else if (op == 0xb1)
			pop(f, byte(f) & 15);
		else if (op == 0xb2) {
			f->at += 0x204 / 4;
			shift = 0;
			do {
				more = byte(f);
				if (shift < 28)
					f->at += (int32_t)((more & 127) << shift);
				shift += 7;
			} while ((more & 128) && f->next < f->end);
		} else if (op == 0xb3)
			f->at += 2 * (int32_t)((byte(f) & 15) + 1) + 1;
		else if (op >= 0xb8 && op < 0xc0)
			f->at += 2 * (int32_t)((op & 7) + 1) + 1;
		else if (op == 0xc8 || op == 0xc9)
			f->at += 2 * (int32_t)((byte(f) & 15) + 1);
		else if (op >= 0xd0 && op < 0xd8)
			f->at += 2 * (int32_t)((op & 7) + 1);
		else
			return 0;
	}
	return 1;
}

/* instructions finds those of an entry of the index. */
static int instructions(const struct bs_linux_module *m, const uint32_t *entry, struct frame *f)
{
	const uint32_t *word = entry + 1;
	bs_word at;
	unsigned longer = 0;

	if (*word == CANNOT_UNWIND)
		return 0;
	f->next = 1;
	if (!(*word >> 31)) {
		at = relative(word);
		if (at < m->image_low || at >= m->image_high - 8 || at % 4)
			return 0;
		word = (const uint32_t *)(uintptr_t)at;
		if (!(*word >> 31)) { /* a personality routine, whose data begin alike */
			word++;
			longer = *word >> 24;
		} else if (*word >> 24 & 15) {
			longer = *word >> 16 & 255;
			f->next = 2;
		}
	}
	f->words = word;
	f->end = 4 * (longer + 1);
	return longer < MOST_WORDS && (bs_word)(uintptr_t)word + f->end <= m->image_high;
}

int bs_linux_by_frames(const struct bs_linux_module *m, bs_word at, struct bs_rule *rule)
{
	const uint32_t *index = (const uint32_t *)(const void *)m->frames;
	bs_word low = 0, high = m->frames_size / 8;
	struct frame f;
	int i, pc;

	while (low < high) { /* to the first entry that begins behind the address */
		bs_word middle = (low + high) / 2;
		if (relative(index + 2 * middle) <= at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || !instructions(m, index + 2 * (low - 1), &f))
		return 0;
	for (i = 0; i < 16; i++)
		rule->slot[i] = (int16_t)(BS_PRESERVED >> i & 1 ? BS_KEPT : BS_LOST);
	rule->slot[14] = BS_KEPT;
	f.rule = rule;
	f.base = BS_SP;
	f.at = 0;
	if (!execute(&f) || rule->slot[BS_SP] != BS_LOST)
		return 0;
	pc = rule->slot[15] != BS_LOST ? 15 : 14;
	rule->ra = rule->slot[pc];
	rule->slot[14] = rule->slot[15] = BS_LOST;
	rule->flags = BS_BELOW | BS_RA_BELOW;
	rule->base = (uint8_t)f.base;
	rule->offset = f.at;
	if (rule->ra == BS_KEPT) {
		rule->flags = BS_BELOW | BS_RA_REGISTER;
		rule->ra = 14;
	}
	return 1;
}

#endif
