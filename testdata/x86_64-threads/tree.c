/* libtree.so */
#include <alloca.h>
#include <stdlib.h>
#include <string.h>
#include "tree.h"

#define noinline __attribute__((noinline, noclone))

static long unit = 1;

noinline struct node *tree_make(int depth)
{
	struct node *n = calloc(1, sizeof *n);
	n->weight = &unit;
	if (depth > 1) {
		n->left = tree_make(depth - 1);
		n->right = tree_make(depth - 1);
	} else {
		n->weight = NULL;
	}
	return n;
}

/* Keeps a copy of the node in memory that it takes from the stack, aligned to 64. */
noinline void tree_walk(struct node *n, void (*visit)(void *ctx, struct node *n), void *ctx)
{
	struct node copy __attribute__((aligned(64)));
	char *pad = alloca(n->left ? 40 : 200);
	memset(pad, 0, 40);
	memcpy(&copy, n, sizeof copy);
	__asm__ volatile("" : : "r"(pad), "r"(&copy) : "memory");
	if (copy.left)
		tree_walk(copy.left, visit, ctx);
	visit(ctx, &copy);
	if (copy.right)
		tree_walk(copy.right, visit, ctx);
}
