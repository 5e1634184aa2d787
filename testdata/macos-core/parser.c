/* A program for macOS that needs no system: the loader beside it (run.c) maps and starts it on
   Linux. Most functions have frame pointers, as is the default for Darwin; those of bare.c have
   none. */
#include "parser.h"

#ifndef TEXT
#define TEXT "[a[b!]]"
#endif

struct parser {
	const char *at;
	int depth;
	struct node *last;
};

/* The crash: the node that was parsed last, and there is none. */
static inline __attribute__((always_inline)) int last_value(const struct parser *p)
{
	return p->last->value;
}

static __attribute__((noinline)) int finish(struct parser *p)
{
	return last_value(p) + p->depth;
}

/* Recursive: one frame for each bracket. */
static __attribute__((noinline)) int parse_list(struct parser *p)
{
	int sum = 0;
	while (*p->at) {
		char c = *p->at++;
		if (c == ']')
			return sum;
		if (c == '[') {
			p->depth++;
			sum += parse_list(p);
			p->depth--;
		} else if (c == '!') {
			sum += finish(p);
		}
		sum++;
	}
	return sum;
}

/* Called through a pointer by a function without frame pointer. */
static int visit(void *context)
{
	return parse_list(context) + 1;
}

int main(void)
{
	struct parser p;
	p.at = TEXT;
	p.depth = 0;
	p.last = 0;
	return with_buffer(visit, &p) - 1;
}

/* Where the program begins: nothing called it, as its DWARF says. */
__attribute__((naked)) void start(void)
{
	__asm__(".cfi_undefined %rip\n\tpushq $0\n\tmovq %rsp, %rbp\n\tandq $-16, %rsp\n\tcallq _main\n\tud2");
}
