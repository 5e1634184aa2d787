/* libproto.so: words, and lists of words in parentheses. */
#include <alloca.h>
#include <string.h>
#include "proto.h"

#define noinline __attribute__((noinline, noclone))

/* The word is copied to a buffer of its own size, so SP moves by an amount that
 * only a register knows. */
static noinline int word(struct proto *p)
{
	size_t n = strcspn(p->at, "()");
	char *copy = alloca(n + 1);
	memcpy(copy, p->at, n);
	copy[n] = 0;
	p->at += n;
	return p->on_word(p->ctx, copy) + 1;
}

noinline int proto_parse(struct proto *p, int depth)
{
	int words = 0;
	while (*p->at && *p->at != ')') {
		if (*p->at == '(') {
			p->at++;
			words += proto_parse(p, depth + 1);
			if (*p->at)
				p->at++;
		} else {
			words += word(p);
		}
	}
	return words;
}
