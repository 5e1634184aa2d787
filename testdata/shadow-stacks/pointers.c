/* Functions that are called through pointers, so that no call names them. */
#include "start.h"

struct node {
	struct node *next;
	int (*op)(struct node *, int);
};

NOINLINE int leaf(struct node *n, int depth)
{
	volatile long w[2];
	for (int i = 0; i < 14; i++)
		w[i] = (long)n + i;
	return *(volatile int *)(long)(depth * 3);
}

NOINLINE int inner(struct node *n, int depth) { return n->next->op(n->next, depth + 1) + depth; }

static struct node c = {0, leaf}, b = {&c, inner}, a = {&b, inner};

int run(int n) { return inner(&a, n) + 3; }
