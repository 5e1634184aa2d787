/* A buffer is overrun in a leaf function, over the frames of its callers. */
#include "start.h"

NOINLINE int smash(int n)
{
	volatile long a[2];
	for (int i = 0; i < n; i++)
		a[i] = 0x4141414141414141;
	return *(volatile int *)a[0];
}

NOINLINE int mid(int n) { return smash(n) + 1; }

NOINLINE int outer(int n)
{
	int r = 0;
	for (int i = 0; i < n; i++)
		r += mid(i * 40 + 9);
	return r;
}

NOINLINE int rec(int depth, int n) { return depth ? rec(depth - 1, n) * 3 ^ n : outer(n) + 2; }

int run(int n) { return rec(3, n) + 1; }
