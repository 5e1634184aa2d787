/* Control flow that misleads scans: switches, several returns, tail calls, recursion, computed gotos, calls that never return, longjmp. */
#include "lab.h"
#include <setjmp.h>

NOINLINE int one(int a) { return a + sink; }
NOINLINE int two(int a) { return one(a) * 2 + 1; }

NOINLINE int table(int k, int a) {
	switch (k) {
	case 0: return two(a) + 1;
	case 1: return one(a) - 3;
	case 2: a = two(a); /* fall through */
	case 3: return a * 5;
	case 4: return two(a) ^ one(a + 1);
	case 5: return one(a) + two(a + 2) + 7;
	case 6: return -a;
	case 7: return two(two(a));
	default: return one(k);
	}
}

NOINLINE int gotos(const unsigned char *ops, int a) {
	static const void *const labels[] = {&&inc, &&dbl, &&call, &&end};
	goto *labels[*ops++];
inc: a++; goto *labels[*ops++];
dbl: a = two(a); goto *labels[*ops++];
call: a += one(a); goto *labels[*ops++];
end: return a;
}

NOINLINE int tail_to(int a) { char b[24]; fill(b, 24, a); return two(b[3]); }
NOINLINE int tail(int a) { if (a & 1) return tail_to(a * 3); return two(a); }
NOINLINE int tail_framed(int a) { int x = two(a), y = two(x); return tail(x + y); }

NOINLINE int even(int n);
NOINLINE int odd(int n) { return n == 0 ? 0 : even(n - 1); }
NOINLINE int even(int n) { return n == 0 ? 1 : odd(n - 1); }

NOINLINE int ackermann(int m, int n) {
	if (m == 0) return n + 1;
	if (n == 0) return ackermann(m - 1, 1);
	return ackermann(m - 1, ackermann(m, n - 1));
}
NOINLINE int deep(int n) { volatile int keep[3] = {n, n, n}; return n ? deep(n - 1) + keep[1] : two(1); }

static jmp_buf out;
NORETURN void leave(int a) { char b[16]; fill(b, 16, a); longjmp(out, b[2] | 1); }
NORETURN void leave_more(int a) { if (two(a)) leave(a); leave(a + 1); }
/* Ends in a call that never returns; the next function begins right behind it. */
NOINLINE int ends_in_call(int a) { if (a < 2) return one(a); char b[32]; fill(b, 32, a); leave_more(b[1]); }
NOINLINE int behind(int a) { return one(a) + 2; }
NOINLINE int jumps(int a) { volatile int n = a; if (setjmp(out) == 0) n += ends_in_call(a); return n + behind(a); }

int main(void) {
	static const unsigned char ops[] = {0, 1, 2, 1, 0, 3};
	for (int k = 0; k < 9; k++) sink += table(k, k + 1);
	sink += gotos(ops, 3) + tail(3) + tail(4) + tail_framed(2) + even(6) + ackermann(1, 2) + deep(9) + jumps(1) + jumps(5);
	return sink == 12345;
}
