/* Runs the reader on this machine over another one's captures, which come as lines:
 *
 *     T FILE BIAS           a table
 *     I ADDRESS HEX         bytes that all captures have: code
 *     M ADDRESS HEX         bytes that the next capture has
 *     R PC EXACT KNOWN R0 … R15 PSP
 *                           walks; the answer is a line: REASON PC PC …
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../backsight.h"
#if BS_MACHINE == BS_ARM && defined(BS_CORTEXM)
#include "../ports/cortexm/exception.h"
#else
#include "../ports/linux/signal.h"
#endif

const uint8_t backsight_table[] = {0};

enum { MAX_RANGES = 64, MAX_FRAMES = 1024 };

struct range {
	uint64_t at;
	size_t size;
	uint8_t *bytes;
};

static struct range ranges[MAX_RANGES];
static int fixed, all; /* how many ranges stay, how many there are */
static uint8_t *table;
static size_t table_size;
static bs_word bias, process_stack;

static void fail(const char *what)
{
	fprintf(stderr, "host: %s\n", what);
	exit(1);
}

static const uint8_t *find_table(void *context, bs_word pc, bs_word *by)
{
	(void)context;
	(void)pc;
	*by = bias;
	return table;
}

static int read_word(void *context, bs_word at, bs_word *value)
{
	int i, k;
	(void)context;
	for (i = 0; i < all; i++) {
		const struct range *r = &ranges[i];
		if (at < r->at || r->size < BS_WORD || at - r->at > r->size - BS_WORD)
			continue;
		*value = 0;
		for (k = 0; k < BS_WORD; k++) {
			bs_word b = r->bytes[at - r->at + (uint64_t)k];
#if BS_BIG
			*value |= b << (8 * (BS_WORD - 1 - k));
#else
			*value |= b << (8 * k);
#endif
		}
		return 1;
	}
	return 0;
}

static void load_table(char *rest)
{
	char *file = strtok(rest, " \n"), *by = strtok(0, " \n");
	FILE *f = file ? fopen(file, "rb") : 0;
	if (!f || !by)
		fail("no table");
	table = malloc(1 << 24);
	table_size = fread(table, 1, 1 << 24, f);
	fclose(f);
	bias = (bs_word)strtoull(by, 0, 16);
	if (!bs_check(table, table_size, 0))
		fail("bs_check refuses the table");
}

static void add_range(char *rest, int stays)
{
	char *hex;
	struct range *r = &ranges[all];
	size_t i;
	if (all == MAX_RANGES)
		fail("too many ranges");
	r->at = strtoull(rest, &hex, 16);
	hex++;
	r->size = strcspn(hex, "\n") / 2;
	r->bytes = malloc(r->size + 1);
	for (i = 0; i < r->size; i++) {
		char two[3] = {hex[2 * i], hex[2 * i + 1], 0};
		r->bytes[i] = (uint8_t)strtoul(two, 0, 16);
	}
	all++;
	if (stays)
		fixed = all;
}

static void walk(char *rest)
{
	static bs_word pcs[MAX_FRAMES];
	struct bs_regs regs;
	struct bs_world w;
	enum bs_stop why;
	int i, n;
	memset(&regs, 0, sizeof regs);
	memset(&w, 0, sizeof w);
	regs.pc = (bs_word)strtoull(rest, &rest, 16);
	regs.exact = (uint8_t)strtoul(rest, &rest, 16);
	regs.known = (uint16_t)strtoul(rest, &rest, 16);
	for (i = 0; i < 16; i++)
		regs.r[i] = (bs_word)strtoull(rest, &rest, 16);
	process_stack = (bs_word)strtoull(rest, &rest, 16);
	w.table = find_table;
	w.read = read_word;
#if BS_MACHINE == BS_ARM && defined(BS_CORTEXM)
	w.exception = bs_cortexm_exception;
	w.context = &process_stack;
#else
	w.trampoline = bs_linux_trampoline;
#endif
	n = bs_unwind(&w, &regs, pcs, MAX_FRAMES, &why);
	printf("%d", (int)why);
	for (i = 0; i < n; i++)
		printf(" %llx", (unsigned long long)pcs[i]);
	printf("\n");
	fflush(stdout);
	while (all > fixed)
		free(ranges[--all].bytes);
}

int main(void)
{
	static char line[1 << 25];
	while (fgets(line, sizeof line, stdin)) {
		switch (line[0]) {
		case 'T': load_table(line + 2); break;
		case 'I': add_range(line + 2, 1); break;
		case 'M': add_range(line + 2, 0); break;
		case 'R': walk(line + 2); break;
		default: fail("what line?");
		}
	}
	return 0;
}
