/* Runs the reader on random tables, registers and stacks: a host build under the address and
 * undefined-behaviour sanitizers. fuzz SEED COUNT; or on a table of which one bit is another,
 * each in turn, without bs_check: fuzz bits FILE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../backsight.h"

const uint8_t backsight_table[] = {0};

static uint64_t state;

/* next is xorshift64*. */
static uint32_t next(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)(state * 0x2545f4914f6cdd1dull >> 32);
}

enum { STACK = 256, BASE = 0x1000, MAX_TABLE = 1 << 12 };

static uint8_t *table;
static size_t size;
static bs_word stack[STACK];
static unsigned long reads;

static const uint8_t *find(void *context, bs_word pc, bs_word *bias)
{
	(void)context;
	(void)pc;
	*bias = 0;
	return table;
}

static int read_word(void *context, bs_word at, bs_word *value)
{
	(void)context;
	reads++;
	if (at < BASE || at >= BASE + sizeof stack || at % BS_WORD)
		return 0;
	*value = stack[(at - BASE) / BS_WORD];
	return 1;
}

static void put16(size_t at, uint32_t v)
{
	table[at] = (uint8_t)v;
	table[at + 1] = (uint8_t)(v >> 8);
}

static void put32(size_t at, uint32_t v)
{
	put16(at, v);
	put16(at + 2, v >> 16);
}

static uint32_t sum(const uint8_t *p, size_t n)
{
	static uint32_t crcs[256];
	uint32_t crc = ~0u, i;
	int k;
	for (i = 0; !crcs[255] && i < 256; i++)
		for (crcs[i] = i, k = 0; k < 8; k++)
			crcs[i] = crcs[i] >> 1 ^ ((crcs[i] & 1) ? 0xedb88320u : 0u);
	for (; n > 0; n--)
		crc = crc >> 8 ^ crcs[(crc ^ *p++) & 255];
	return ~crc;
}

/* make fills a table with random bytes; its header is one that bs_check lets pass, but for one
 * table in eight. The block of memory ends with the table. */
static void make(void)
{
	uint32_t pages = next() % 3, blocks = next() % 4, rules = next() % 20, forms = next() % 12, tracked = next() % 13, i;
	size = 88 + 2 * (pages + 1) + 2 * blocks + 2 * rules + (4 + tracked) * forms + 128 * blocks;
	if (blocks > 0)
		size -= next() % 128;
	table = malloc(size);
	for (i = 0; i < size; i++)
		table[i] = (uint8_t)next();
	memcpy(table, "bsD\2", 4);
	put32(4, (uint32_t)size);
	put16(12, BS_MACHINE);
	table[14] = (uint8_t)((next() & 3) | (BS_WORD == 8 ? 12 : 8));
	table[15] = (uint8_t)tracked;
	for (i = 0; i < 12; i++)
		table[16 + i] &= 15;
	put16(28, pages);
	put16(30, blocks);
	put16(32, rules);
	put16(34, forms);
	put32(36, next() % 4096);
	put32(40, 0);
	put32(44, next() % (1u << (next() % 20)));
	for (i = 0; i <= pages; i++)
		put16(88 + 2 * i, next() % (blocks + 2));
	for (i = 0; i < rules && forms; i++)
		table[88 + 2 * (pages + 1) + 2 * blocks + 2 * i] = (uint8_t)(next() % (forms + 1));
	if (next() % 8 == 0)
		table[next() % size] ^= (uint8_t)(1 << next() % 8);
	put32(8, sum(table + 12, size - 12));
}

/* guess takes what is there for the caller's address. */
static int guess(void *context, const struct bs_world *w, struct bs_regs *regs)
{
	(void)context;
	regs->r[BS_SP] += BS_WORD;
	regs->exact = 0;
	regs->guessed = 1;
	return bs_load(w, regs->r[BS_SP], &regs->pc);
}

static void walk(void)
{
	struct bs_world w;
	struct bs_regs regs;
	bs_word pcs[16];
	enum bs_stop why;
	int i, n;
	memset(&w, 0, sizeof w);
	w.table = find;
	w.read = read_word;
	w.guess = next() % 4 ? 0 : guess;
	if (next() % 2) {
		w.stack_low = BASE + next() % 512;
		w.stack_high = w.stack_low + next() % 2048;
	}
	for (i = 0; i < STACK; i++)
		stack[i] = next() % 4 ? next() % 8192 : next();
	for (i = 0; i < 16; i++)
		regs.r[i] = BASE + next() % 2048 / BS_WORD * BS_WORD;
	regs.known = (uint16_t)next();
	regs.known |= 1u << BS_SP;
	regs.exact = next() & 1;
	regs.guessed = 0;
	regs.pc = next() % 8192;
	reads = 0;
	n = bs_unwind(&w, &regs, pcs, 16, &why);
	if (n < 1 || n > 16 || reads > 16 * 15 || (int)why > BS_BAD_TABLE)
		abort();
}

/* flip walks from everywhere in a program by its table, each bit of which is another once. */
static int flip(const char *path)
{
	enum { PLACES = 97 };
	static uint8_t whole[1 << 20];
	FILE *f = fopen(path, "rb");
	unsigned bit, i;
	struct bs_world w;

	if (!f)
		return 1;
	size = fread(whole, 1, sizeof whole, f);
	fclose(f);
	memset(&w, 0, sizeof w);
	w.table = find;
	w.read = read_word;
	for (bit = 0; bit < size * 8; bit++) {
		bs_word base, bytes;
		table = malloc(size);
		memcpy(table, whole, size);
		table[bit / 8] ^= (uint8_t)(1 << bit % 8);
		base = (bs_word)table[36] | (bs_word)table[37] << 8 | (bs_word)table[38] << 16 | (bs_word)table[39] << 24;
		bytes = ((bs_word)table[44] | (bs_word)table[45] << 8 | (bs_word)table[46] << 16 | (bs_word)table[47] << 24) << (table[14] & 3);
		for (i = 0; i <= PLACES; i++) {
			struct bs_regs regs;
			enum bs_stop why;
			memset(&regs, 0, sizeof regs);
			regs.pc = base + (i == PLACES ? bytes - 1 : bytes / PLACES * i);
			regs.exact = 1;
			regs.known = 0xffff;
			regs.r[BS_SP] = BASE;
			bs_step(&w, &regs, &why);
		}
		free(table);
	}
	printf("%u bits\n", bit);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long i, count = argc > 2 ? strtoul(argv[2], 0, 10) : 1000, whole = 0;
	if (argc > 2 && strcmp(argv[1], "bits") == 0)
		return flip(argv[2]);
	state = argc > 1 ? strtoull(argv[1], 0, 10) | 1 : 1;
	for (i = 0; i < count;) {
		int k;
		make();
		if (bs_check(table, size, 0)) {
			whole++;
			for (k = 0; k < 32; k++, i++)
				walk();
		} else {
			i++;
		}
		free(table);
	}
	printf("%lu walks, %lu tables that pass\n", i, whole);
	return 0;
}
