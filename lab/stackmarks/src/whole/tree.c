/* Balanced trees, lists, sorting by halves, a pattern matcher, bits: recursion, and small functions that are called in tail position. */
#include "lab.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct node { struct node *left, *right; int key, height; };
static int height(const struct node *n) { return n ? n->height : 0; }
static NOINLINE struct node *measured(struct node *n) { int l = height(n->left), r = height(n->right); n->height = (l > r ? l : r) + 1; return n; }
static NOINLINE struct node *right(struct node *n) { struct node *l = n->left; n->left = l->right; l->right = measured(n); return measured(l); }
static NOINLINE struct node *left(struct node *n) { struct node *r = n->right; n->right = r->left; r->left = measured(n); return measured(r); }
static NOINLINE struct node *balanced(struct node *n) {
	measured(n);
	int d = height(n->left) - height(n->right);
	if (d > 1) { if (height(n->left->left) < height(n->left->right)) n->left = left(n->left); return right(n); }
	if (d < -1) { if (height(n->right->right) < height(n->right->left)) n->right = right(n->right); return left(n); }
	return n;
}
static struct node *insert(struct node *n, int key) {
	if (!n) { n = calloc(1, sizeof *n); n->key = key; return measured(n); }
	if (key < n->key) n->left = insert(n->left, key); else n->right = insert(n->right, key);
	return balanced(n);
}
static int walk(const struct node *n, int (*f)(const struct node *, void *), void *x) { return n ? walk(n->left, f, x) + f(n, x) + walk(n->right, f, x) : 0; }
static int counted(const struct node *n, void *x) { *(int *)x += n->key; return 1; }
static void release(struct node *n) { if (n) { release(n->left); release(n->right); free(n); } }
static NOINLINE void merged(int *v, int n) {
	if (n < 2) return;
	int h = n / 2, t[128], i = 0, j = h, k = 0;
	merged(v, h);
	merged(v + h, n - h);
	while (i < h || j < n) t[k++] = j >= n || (i < h && v[i] <= v[j]) ? v[i++] : v[j++];
	for (k = 0; k < n; k++) v[k] = t[k];
}
static int matches(const char *p, const char *s);
static NOINLINE int star(int c, const char *p, const char *s) { do if (matches(p, s)) return 1; while (*s && (*s++ == c || c == '.')); return 0; }
static int matches(const char *p, const char *s) {
	if (!*p) return 1;
	if (p[1] == '*') return star(*p, p + 2, s);
	if (*s && (*p == '.' || *p == *s)) return matches(p + 1, s + 1);
	return 0;
}
static NOINLINE unsigned queens(unsigned all, unsigned cols, unsigned a, unsigned b) {
	unsigned n = 0;
	if (cols == all) return 1;
	for (unsigned free = ~(cols | a | b) & all; free; free &= free - 1) { unsigned bit = free & -free; n += queens(all, cols | bit, (a | bit) << 1, (b | bit) >> 1); }
	return n;
}
int main(void) {
	struct node *t = NULL;
	int v[100], sum = 0;
	for (int i = 0; i < 100; i++) t = insert(t, v[i] = (i * 37 + sink) % 101);
	merged(v, 100);
	sink = walk(t, counted, &sum) + v[50] + matches("a.*b", "xaxxb") + (int)queens(63, 0, 0, 0);
	release(t);
	return printf("%d %d\n", sum, sink) < 0;
}
