/* A string is too long for its buffer; the function that copied it has returned by the shadow stack, and its
 * caller reads a pointer that lay behind the buffer. */
#include "start.h"

static const char words[] = "a line of input that is far longer than the sixteen bytes that somebody thought "
	"would do for it, and that goes on and on over the frames of the callers";

NOINLINE char *copy(volatile char *to, const char *from)
{
	while ((*to++ = *from++))
		;
	return (char *)to;
}

NOINLINE int parse(const char *s)
{
	char buf[16];
	copy(buf, s);
	return buf[3];
}

NOINLINE int line(int n, int (*f)(const char *))
{
	int *volatile at = &n;
	int got = f(words);
	return got + *at;
}

NOINLINE int file(int n) { return line(n, parse) + 2; }

int run(int n) { return file(n) + 1; }
