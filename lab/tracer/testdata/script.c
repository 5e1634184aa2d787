/* Feeds the shadow stack from standard input: "link WORD", the CPU, then for each
 * instruction "PC LENGTH SP LR ALT THUMB [SP]", numbers in hexadecimal. Prints after
 * each the return addresses and CFAs of all activations, outermost first, "?" behind a
 * strange one. */
#include <inttypes.h>
#include <stdio.h>

#include "shadow.h"

static uint64_t top;

static uint64_t load(uint64_t addr)
{
	(void)addr;
	return top;
}

int main(void)
{
	static struct shadow s;
	struct abi abi = { .load = load };
	unsigned link, thumb;
	if (scanf("%u %u", &link, &abi.word) != 2)
		return 1;
	abi.link = link;
	abi.mode = link;
	shadow_reset(&s, &abi);
	struct moment m;
	while (scanf("%" SCNx64 " %x %" SCNx64 " %" SCNx64 " %" SCNx64 " %u %" SCNx64, &m.pc, &m.len, &m.sp, &m.lr, &m.alt, &thumb, &top) == 7) {
		m.thumb = thumb;
		shadow_step(&s, &m);
		for (size_t i = 0; i < s.n; i++)
			printf("%s%" PRIx64 ":%" PRIx64 "%s", i ? " " : "", s.at[i].ret, s.at[i].cfa, s.at[i].strange ? "?" : "");
		putchar('\n');
	}
	return 0;
}
