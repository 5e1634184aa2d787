/* Reads a Mach-O file, and prints the rules of compact unwind at addresses, as linked, that come as words: for each a line
 * BASE OFFSET FLAGS RA and 16 slots, or "none". The file's text has the offsets in the file that it has in memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../ports/darwin/images.h"

int main(int argc, char **argv)
{
	static uint8_t file[32 << 20];
	struct bs_darwin_image image;
	struct bs_rule rule;
	uint64_t at;
	FILE *in = argc > 1 ? fopen(argv[1], "rb") : 0;
	int i;

	if (!in || fread(file, 1, sizeof file, in) < 64 || !bs_darwin_image_of(file, &image))
		return 1;
	fclose(in);
	while (scanf("%" SCNx64, &at) == 1) {
		if (!bs_darwin_by_compact(&image.unwind, (bs_word)at + image.slide, 0, &rule)) {
			puts("none");
			continue;
		}
		printf("%d %d %d %d", rule.base, rule.offset, rule.flags, rule.ra);
		for (i = 0; i < 16; i++)
			printf(" %d", rule.slot[i]);
		puts("");
	}
	return 0;
}
