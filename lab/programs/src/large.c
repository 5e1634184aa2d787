/* Frames beyond the reach of an immediate: above 4, 32 and 64 KB, with arrays of a size known at run time, with alloca in a loop and in a branch, realigned. */
#include "lab.h"
#include <alloca.h>
#include <string.h>

NOINLINE int leaf(int a) { return a * 3 + sink; }
NOINLINE int use(char *p, int n) { fill(p, n, n); return leaf(p[0]) + leaf(n); }
NOINLINE int page(int a) { char b[4096]; return use(b, sizeof b) + a; }
NOINLINE int pages(int a) { char b[9000]; return use(b, sizeof b) + page(a); }
NOINLINE int beyond32k(int a) { char b[33000]; return use(b, sizeof b) + pages(a); }
NOINLINE int beyond64k(int a, int c, int d) { char b[66000]; int e = use(b, sizeof b); return e + beyond32k(a) + c * d + b[a]; }
NOINLINE int exactly32k(int a) { char b[32768]; return use(b, sizeof b) + leaf(a); }
NOINLINE int early(int a) { if (a < 0) return leaf(-a); char b[40000]; if (a == 3) return use(b, 10); return use(b, sizeof b) + leaf(a); }

NOINLINE int array(int n) { char b[n]; return use(b, n) + leaf(n); }
NOINLINE int arrays(int n) {
	int s = 0;
	for (int i = 1; i < n; i++) { short b[i * 7]; s += use((char *)b, i * 7); }
	return s + leaf(s);
}
NOINLINE int branch(int n) { char *p = n & 1 ? alloca(n * 64) : alloca(n * 9000); return use(p, n * 64) + leaf(n); }
NOINLINE int grows(int n) { char *p = 0; for (int i = 0; i < n; i++) { char *q = alloca(700 + i); use(q, 700); q[1] = p ? p[1] : 0; p = q; } return p[1] + leaf(n); }
NOINLINE int aligned(int a) { _Alignas(128) char b[600]; return use(b, sizeof b) + leaf(a + (int)((unsigned long)b & 127)); }
NOINLINE int aligned_array(int n) { _Alignas(64) char b[64]; char v[n]; return use(b, sizeof b) + use(v, n); }
struct large { char b[5000]; };
NOINLINE struct large made(int a) { struct large l; memset(&l, a, sizeof l); l.b[1] = (char)leaf(a); return l; }
NOINLINE int taken(struct large l, int a) { return l.b[a] + leaf(a); }
NOINLINE int passed(int a) { return taken(made(a), a + 1) + leaf(a); }

int main(void) {
	for (int i = 1; i < 4; i++)
		sink += beyond64k(i, 2, 3) + exactly32k(i) + early(i) + early(-i) + array(i * 300) + arrays(i + 2) + branch(i) + grows(i) + aligned(i) + aligned_array(i * 50) + passed(i);
	return sink == 12345;
}
