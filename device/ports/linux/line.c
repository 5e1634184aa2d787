#include "line.h"

#include <string.h>
#include <unistd.h>

/* all writes all bytes, or closes the line to a descriptor that takes no more. */
static void all(int *fd, const char *text, size_t size)
{
	while (*fd >= 0 && size > 0) {
		ssize_t n = write(*fd, text, size);
		if (n <= 0)
			*fd = -1;
		else {
			text += n;
			size -= (size_t)n;
		}
	}
}

void bs_line_flush(struct bs_line *l)
{
	all(&l->fd, l->text, l->used);
	all(&l->file, l->text, l->used);
	if (l->used <= l->room && l->all <= l->room - l->used)
		memcpy(l->memory + l->all, l->text, l->used);
	l->all += l->used;
	l->used = 0;
}

void bs_line_text(struct bs_line *l, const char *s)
{
	for (; *s; s++) {
		if (l->used == sizeof l->text)
			bs_line_flush(l);
		l->text[l->used++] = *s;
	}
}

void bs_line_number(struct bs_line *l, bs_word v, unsigned base, int least)
{
	char s[2 * sizeof v + 8], *at = s + sizeof s;

	*--at = 0;
	for (; v != 0 || least > 0; v /= base, least--)
		*--at = "0123456789abcdef"[v % base];
	bs_line_text(l, at);
}
