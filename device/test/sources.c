/* Runs the sources of rules that read a module in place on random input: a host build for any machine. A module lies between
 * pages that cannot be read, so that a read outside is a signal.
 *
 *     sources SEED COUNT */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../ports/linux/memory.h"
#include "../ports/linux/rules.h"

enum { SIZE = 8192, FRAMES = 4096, PAGE = 4096 };

static uint64_t state;
static uint8_t *module;

/* next is xorshift64*. */
static uint32_t next(void)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)(state * 0x2545f4914f6cdd1dull >> 32);
}

/* bs_linux_read reads code of the module; also 32-bit machines' tests lie below 4 GB. */
int bs_linux_read(void *context, bs_word at, bs_word *value)
{
	(void)context;
	if (at < (bs_word)(uintptr_t)module || at > (bs_word)(uintptr_t)module + SIZE - BS_WORD || at % BS_WORD)
		return 0;
	memcpy(value, (const void *)(uintptr_t)at, sizeof *value);
	return 1;
}

static uint8_t *put32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof v);
	return p + sizeof v;
}

#if BS_MACHINE == BS_ARM
/* frames makes an index of eight entries, some of which lead to words behind. */
static void frames(void)
{
	uint8_t *p = module + FRAMES;
	uint32_t i;

	for (i = 0; i < 8; i++) {
		p = put32(p, ((uint32_t)(i * 512) - (uint32_t)(p - module)) & 0x7fffffff);
		p = put32(p, next() % 3 ? 0x80000000u | (next() & 0xffffff) : next() % 4 ? 64 + next() % 4096 : next());
	}
	while (p < module + SIZE)
		p = put32(p, next() % 3 ? 0x80000000u | (next() & 0x1ffffff) : next());
}
#else
/* frames makes eight descriptions of 512 bytes of code each, behind a common part, and their sorted table. */
static void frames(void)
{
	static const uint8_t ops[] = {0x0c, 0x0d, 0x0e, 0x0a, 0x0b, 0x0f, 0x10, 0x12, 0x13, 0x11, 0x05, 0x06, 0x07, 0x08, 0x09, 0x02, 0x03, 0x16, 0x2e, 0x41, 0x44};
	uint8_t *p = module + FRAMES, *cie, *start = p;
	uint32_t i, k;

	*p++ = 1, *p++ = 0x1b, *p++ = 0x03, *p++ = 0x3b;
	cie = start + 12 + 64;
	p = put32(p, (uint32_t)(cie - p));
	p = put32(p, 8);
	for (i = 0; i < 8; i++) {
		p = put32(p, i * 512 - (uint32_t)(start - module));
		p = put32(p, (uint32_t)(cie + 64 + i * 64 - start));
	}
	memcpy(put32(put32(p, 60), 0), "\1zR\0\1\x78\x10\1\x1b\x0c\7\10", 13);
	for (k = 21; k < 64; k++)
		cie[k] = next() % 4 ? 0 : (uint8_t)next();
	for (i = 0; i < 8; i++) {
		uint8_t *fde = cie + 64 + i * 64;
		p = put32(put32(fde, 60), (uint32_t)(fde + 4 - cie));
		p = put32(p, i * 512 - (uint32_t)(p - module));
		p = put32(p, 512);
		for (*p++ = 0; p < fde + 64; p++)
			*p = next() % 2 ? ops[next() % sizeof ops] : (uint8_t)(next() % 3 ? next() % 40 : next());
	}
}
#endif

/* code is made of random words, of which many are what a machine's functions consist of. */
static void code(void)
{
	static const uint32_t words[] = {
#if BS_MACHINE == BS_MIPS
		0x27bdffe0, 0xafbf001c, 0xafbe0018, 0x03a0f021, 0x8fbf001c, 0x8fbe0018, 0x03e00008, 0x27bd0020, 0x10400005, 0x1000fff0, 0x0320f809
#elif BS_MACHINE == BS_RISCV
		0xfc067139, 0xf8220100, 0x744270e2, 0x80826121, 0xb7d5c119, 0x000080e7, 0xf71ff0ef
#elif BS_MACHINE == BS_ARM
		0xb082b5f0, 0xbdf0b002, 0xe92d4ff0, 0xe8bd8ff0, 0xf7ffb510, 0xd1fcfffe, 0xe8bd4010, 0xe12fff1e
#elif BS_MACHINE == BS_X86_64 || BS_MACHINE == BS_I386
		0xe5894855, 0x48535441, 0x8318ec83, 0x5d5b18c4, 0x5b41c3c9, 0x75c35d41, 0x0ffcebf0, 0xffe80f1f, 0xc5fffff0
#else
		0xa9bd7bfd, 0x910003fd, 0xa9024ff4, 0xa9424ff4, 0xa8c37bfd, 0xd65f03c0, 0x94000000, 0x34000060, 0x17fffff0
#endif
	};
	uint8_t *p = module;

	while (p < module + FRAMES)
		p = put32(p, next() % 4 ? words[next() % (sizeof words / sizeof *words)] : next());
}

int main(int argc, char **argv)
{
	unsigned long i, count = argc > 2 ? strtoul(argv[2], 0, 10) : 1000, found = 0;
	uint8_t *room = mmap((void *)(uintptr_t)0x10000000, SIZE + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (room == MAP_FAILED || mprotect(room + PAGE, SIZE, PROT_READ | PROT_WRITE) != 0)
		return 1;
	module = room + PAGE;
	state = argc > 1 ? strtoull(argv[1], 0, 10) | 1 : 1;
	for (i = 0; i < count; i++) {
		struct bs_linux_module m;
		struct bs_rule rule;
		int k;

		memset(&m, 0, sizeof m);
		memset(&rule, 0, sizeof rule);
		m.image_low = (bs_word)(uintptr_t)module;
		m.image_high = m.image_low + SIZE;
		m.low = m.image_low;
		m.high = m.low + FRAMES;
		m.frames = module + FRAMES;
		m.frames_size = BS_MACHINE == BS_ARM ? 64 : 76;
		code();
		frames();
		for (k = next() % 3; k > 0; k--)
			module[next() % SIZE] ^= (uint8_t)(1 << next() % 8);
		for (k = 0; k < 16; k++) {
			found += (unsigned long)bs_linux_by_frames(&m, m.low + next() % FRAMES, &rule);
			found += (unsigned long)bs_linux_by_code(&m, (m.low + next() % FRAMES) & ~(bs_word)(BS_MACHINE == BS_ARM), (int)next() % 2, &rule);
			if (rule.base > 15)
				abort();
		}
	}
	printf("%lu modules, %lu rules\n", i, found);
	return found == 0;
}
