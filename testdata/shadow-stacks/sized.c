/* Frames of variable size: only the frame pointer, which was overwritten, tells where the callers' frames lie. */
#include "start.h"

NOINLINE void fill(volatile char *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i] = (char)(i * 7 + 1);
}

NOINLINE int vla(int n)
{
	char a[n + 1];
	fill(a, n > 100 ? 400 : n);
	return a[n / 2];
}

NOINLINE int more(int n)
{
	char b[n * 2];
	fill(b, n);
	return vla(n * 20) + b[1];
}

NOINLINE int caller(int n)
{
	volatile int k = n;
	return more(k) + k;
}

int run(int n) { return caller(n) + 1; }
