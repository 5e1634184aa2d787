/* Text that is written without the C library's help: in signal handlers, where memory may be broken. */
#ifndef BACKSIGHT_LINE_H
#define BACKSIGHT_LINE_H

#include "modules.h"

/* A line goes to two descriptors, -1 for none, and to memory as far as there is room; all is how much was written. */
struct bs_line {
	char text[120];
	size_t used, all, room;
	int fd, file;
	char *memory;
};

void bs_line_text(struct bs_line *l, const char *s);

/* bs_line_number writes a number in a base of 10 or 16, in at least so many digits. */
void bs_line_number(struct bs_line *l, bs_word v, unsigned base, int least);

/* bs_line_flush writes out what there is. */
void bs_line_flush(struct bs_line *l);

#endif
