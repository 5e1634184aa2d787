/* Without an operating system: frames, calls through pointers, recursion, tail calls, and (Cortex-M) exceptions in leaves and in the middle of frames. */
#include "lab.h"

#ifdef __ARM_ARCH
#define EXCEPTION() __asm__ volatile("svc 0" ::: "memory")
#else
#define EXCEPTION() ((void)sink)
#endif

typedef int (*op)(int);
NOINLINE int leaf(int a) { return a * 3 + sink; }
NOINLINE int leaf_hit(int a) { EXCEPTION(); return a + 1; }
NOINLINE int small(int a) { return leaf(a) + leaf(a + 1); }
NOINLINE int page(int a) { char b[3000]; fill(b, sizeof b, a); return b[97] + small(a); }
NOINLINE int hit(int a) { char b[40]; fill(b, 40, a); EXCEPTION(); return b[1] + leaf_hit(a) + small(a); }
NOINLINE int wrapped(int a) { if (a < 3) return a; char b[24]; fill(b, 24, a); return b[2] + wrapped(a - 3); }
NOINLINE int tail(int a) { if (a & 1) return small(a * 3); return hit(a); }
NOINLINE int many(int a, int b, int c, int d, int e, int f) {
	int r = leaf(a), s = leaf(b) ^ r, t = leaf(c) + s, u = leaf(d) | t, v = leaf(e) & u, w = small(f);
	return r + s * 2 + t * 3 + u * 5 + v * 7 + w * 11 + a + b + c + d + e + f;
}
static const op ops[] = {leaf, small, hit, tail};
NOINLINE int through(int a) { int s = 0; for (int i = 0; i < 4; i++) s += ops[i](a + i); return s; }
NOINLINE int choose(int k, int a) {
	switch (k) { case 0: return small(a); case 1: return leaf(a) - 3; case 2: a = hit(a); /* fall through */
	case 3: return a * 5; case 4: return small(a) ^ 9; case 5: return page(a); default: return k; }
}
NOINLINE int deep(int n) { volatile int keep[3] = {n, n, n}; return n ? deep(n - 1) + keep[1] : hit(1); }

void on_exception(void) { sink += small(sink); }

int main(void) {
	for (int k = 0; k < 7; k++) sink += choose(k, k + 1);
	sink += page(3) + wrapped(8) + tail(3) + tail(4) + many(1, 2, 3, 4, 5, 6) + through(2) + deep(5);
	return sink;
}
