struct node {
	struct node *left, *right;
	long *weight;
};

struct node *tree_make(int depth);
void tree_walk(struct node *n, void (*visit)(void *ctx, struct node *n), void *ctx);
