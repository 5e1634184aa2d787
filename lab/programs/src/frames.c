/* Frames of every shape: two-step and register-sized ones, alloca and VLAs, realigned, shrink-wrapped, many saved registers, varargs, structs by value. */
#include "lab.h"
#include <alloca.h>
#include <stdarg.h>

NOINLINE int leaf(int a) { return a * 3 + sink; }
NOINLINE int leaf_branches(int a, int b) { if (a > b) return a - b; if (a == b) return 7; return b ^ a; }

NOINLINE int use(void *p, int n) { int s = 0; for (int i = 0; i < n; i += 61) s += ((unsigned char *)p)[i]; return s + leaf(n); }

NOINLINE int small(int a) { return leaf(a) + leaf(a + 1); }
NOINLINE int page(int a) { char b[5000]; fill(b, sizeof b, a); return use(b, sizeof b); }
NOINLINE int huge(int a) { char b[70000]; fill(b, 400, a); return use(b, 400) + small(a); }
NOINLINE int dynamic(int n) { char *b = alloca(n * 8 + 16); fill(b, n * 8, n); int r = use(b, n * 8); return r + small(r); }
NOINLINE int vla(int n) { int v[n]; for (int i = 0; i < n; i++) v[i] = leaf(i); return use(v, (int)sizeof v); }
NOINLINE int aligned(int a) { char b[64] __attribute__((aligned(64))); fill(b, sizeof b, a); return use(b, sizeof b); }

/* The frame comes behind the fast path. */
NOINLINE int wrapped(int a) {
	if (a < 3) return a;
	char b[40];
	fill(b, sizeof b, a);
	return use(b, sizeof b) + wrapped(a - 3);
}

NOINLINE int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
	int r = leaf(a) + leaf(b), s = leaf(c) ^ leaf(d), t = leaf(e) - leaf(f), u = leaf(g) | leaf(h), v = leaf(i) & leaf(j);
	int w = small(r), x = small(s), y = small(t), z = small(u);
	return r + s * 2 + t * 3 + u * 5 + v * 7 + w + x + y + z + a + b + c + d + e + f + g + h + i + j;
}

NOINLINE int sum(int n, ...) {
	va_list ap;
	va_start(ap, n);
	int s = 0;
	for (int i = 0; i < n; i++) s += leaf(va_arg(ap, int));
	va_end(ap);
	return s;
}

struct big { int v[24]; };
NOINLINE struct big byvalue(struct big b) { b.v[3] += leaf(b.v[5]); return b; }

NOINLINE double floating(double a, double b, int n) {
	double x = a, y = b, z = 1;
	for (int i = 0; i < n; i++) { x += y * leaf(i); y -= x / 3; z *= 1.01 + leaf(n) * 1e-6; }
	return x + y + z;
}

int main(void) {
	struct big b = {{1, 2, 3}};
	sink += small(2) + page(3) + huge(4) + dynamic(9) + vla(11) + aligned(5) + wrapped(8) + leaf_branches(1, 2);
	sink += many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + sum(5, 1, 2, 3, 4, 5) + byvalue(b).v[3] + (int)floating(1, 2, 4);
	return sink == 12345;
}
