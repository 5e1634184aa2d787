// A program that computes for a second, eight to twenty functions deep, to be recorded without symbols and unwind tables.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct tree {
	struct tree *left, *right;
	long key;
};

__attribute__((noinline)) static struct tree *insert(struct tree *t, long key) {
	if (!t) {
		t = calloc(1, sizeof *t);
		t->key = key;
		return t;
	}
	if (key < t->key)
		t->left = insert(t->left, key);
	else
		t->right = insert(t->right, key);
	return t;
}

__attribute__((noinline)) static long depth(struct tree *t) {
	if (!t)
		return 0;
	long l = depth(t->left), r = depth(t->right);
	return 1 + (l > r ? l : r);
}

__attribute__((noinline)) static void release(struct tree *t) {
	if (!t)
		return;
	release(t->left);
	release(t->right);
	free(t);
}

static int compare(const void *a, const void *b) {
	long x = *(const long *)a, y = *(const long *)b;
	return (x > y) - (x < y);
}

__attribute__((noinline)) static long sorted(unsigned *seed) {
	long keys[512];
	for (int i = 0; i < 512; i++)
		keys[i] = rand_r(seed);
	qsort(keys, 512, sizeof *keys, compare);
	return keys[7];
}

__attribute__((noinline)) static long round_of(unsigned *seed) {
	struct tree *t = NULL;
	for (int i = 0; i < 512; i++)
		t = insert(t, rand_r(seed));
	long d = depth(t) + sorted(seed);
	release(t);
	return d;
}

int main(void) {
	unsigned seed = 1;
	long sum = 0;
	for (clock_t end = clock() + CLOCKS_PER_SEC; clock() < end;)
		sum += round_of(&seed);
	printf("%ld\n", sum);
}
