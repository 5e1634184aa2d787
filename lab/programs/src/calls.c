/* Calls that no direct target names: function pointers, tables, callbacks from libc, a visitor that calls back. */
#include "lab.h"
#include <stdlib.h>
#include <string.h>
#include <stdio.h>

typedef int (*op)(int);
static NOINLINE int plus(int a) { return a + 1 + sink; }
static NOINLINE int times(int a) { return plus(a) * 3; }
static NOINLINE int minus(int a) { char b[20]; fill(b, 20, a); return plus(a) - b[4]; }
static const op ops[] = {plus, times, minus};
op volatile chosen = times;

NOINLINE int apply(op f, int a) { return f(a) + 1; }
NOINLINE int through_table(int a) { int s = 0; for (unsigned i = 0; i < 3; i++) s += ops[i](a + (int)i); return s; }
NOINLINE int through_memory(int a) { return chosen(a) ^ 5; }
NOINLINE int tail_pointer(int a) { return chosen(a * 2); }

static int compare(const void *a, const void *b) { int x = *(const int *)a, y = *(const int *)b; return plus(x) < plus(y) ? -1 : x > y; }
NOINLINE int sorted(void) {
	int v[] = {5, 3, 9, 1, 7, 2};
	qsort(v, 6, sizeof v[0], compare);
	int key = 7;
	int *p = bsearch(&key, v, 6, sizeof v[0], compare);
	return v[0] + (p ? *p : 0);
}

struct tree { struct tree *l, *r; int v; };
NOINLINE struct tree *insert(struct tree *t, struct tree *n) {
	if (!t) return n;
	if (n->v < t->v) t->l = insert(t->l, n); else t->r = insert(t->r, n);
	return t;
}
NOINLINE void visit(struct tree *t, void (*f)(struct tree *, void *), void *arg) { if (!t) return; visit(t->l, f, arg); f(t, arg); visit(t->r, f, arg); }
static void add(struct tree *t, void *arg) { *(int *)arg += apply(times, t->v); }

NOINLINE int printed(int a) { char b[64]; return snprintf(b, sizeof b, "%d-%s-%x", a, "text", a * 3) + (int)strlen(b); }

int main(void) {
	static struct tree n[5];
	struct tree *root = 0;
	int total = 0;
	for (int i = 0; i < 5; i++) { n[i].v = (i * 7) % 5; root = insert(root, &n[i]); }
	visit(root, add, &total);
	sink += total + apply(minus, 3) + through_table(2) + through_memory(3) + tail_pointer(4) + sorted() + printed(7);
	return sink == 12345;
}
