#include "images.h"

enum { MAGIC = (int)0xfeedfacf, HEADER = 32, SEGMENT = 0x19, SECTION = 80, MOST_COMMANDS = 4096 };

static uint32_t word_at(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24; }

static bs_word wide_at(const uint8_t *p) { return (bs_word)word_at(p) | (bs_word)word_at(p + 4) << 32; }

/* named tells whether a name of 16 bytes is so. */
static int named(const uint8_t *name, const char *want)
{
	int i;

	for (i = 0; i < 16 && name[i] == (uint8_t)want[i]; i++)
		if (want[i] == 0)
			return 1;
	return i == 16;
}

/* text reads the command of the segment __TEXT. */
static int text(const uint8_t *command, uint32_t size, const uint8_t *header, struct bs_darwin_image *image)
{
	uint32_t i, count = word_at(command + 64);
	const uint8_t *section = command + 72;

	image->slide = (bs_word)(uintptr_t)header - wide_at(command + 24);
	image->unwind.base = image->unwind.low = (bs_word)(uintptr_t)header;
	image->unwind.high = image->unwind.low + wide_at(command + 32);
	image->unwind.info = header;
	image->unwind.size = 0;
	for (i = 0; i < count && i < (size - 72) / SECTION; i++, section += SECTION)
		if (named(section, "__unwind_info")) {
			image->unwind.info = (const uint8_t *)(uintptr_t)(wide_at(section + 32) + image->slide);
			image->unwind.size = wide_at(section + 40);
			if ((uintptr_t)image->unwind.info < image->unwind.low || image->unwind.size > image->unwind.high - (uintptr_t)image->unwind.info)
				image->unwind.size = 0;
		}
	return 1;
}

int bs_darwin_image_of(const uint8_t *header, struct bs_darwin_image *image)
{
	const uint8_t *command = header + HEADER, *end = command + word_at(header + 20);
	uint32_t i, size, count = word_at(header + 16);

	if (word_at(header) != (uint32_t)MAGIC)
		return 0;
	for (i = 0; i < count && i < MOST_COMMANDS && end - command >= 8; i++, command += size) {
		size = word_at(command + 4);
		if (size < 8 || size > (size_t)(end - command))
			return 0;
		if (word_at(command) == SEGMENT && size >= 72 && named(command + 8, "__TEXT"))
			return text(command, size, header, image);
	}
	return 0;
}

#if defined(__APPLE__)
#include <mach-o/dyld.h>

int bs_darwin_image_at(bs_word at, struct bs_darwin_image *image)
{
	uint32_t i;

	for (i = 0; i < _dyld_image_count(); i++) {
		const uint8_t *header = (const uint8_t *)_dyld_get_image_header(i);
		if (header && bs_darwin_image_of(header, image) && at >= image->unwind.low && at < image->unwind.high)
			return 1;
	}
	return 0;
}

/* rule asks the table of the program itself, which is of its first image, then compact unwind. */
static int rule(void *context, const struct bs_world *world, bs_word at, int exact, struct bs_rule *rule, enum bs_stop *why)
{
	struct bs_darwin_image image;

	(void)context, (void)world;
	*why = BS_NO_TABLE;
	if (!bs_darwin_image_at(at, &image))
		return 0;
	if (backsight_table && image.unwind.base == (bs_word)(uintptr_t)_dyld_get_image_header(0) &&
	    bs_table_rule(backsight_table, at - image.slide, rule, why))
		return 1;
	return bs_darwin_by_compact(&image.unwind, at, exact, rule);
}

const struct bs_world bs_darwin_world = {.rule = rule};

#endif
