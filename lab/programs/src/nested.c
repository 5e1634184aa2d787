/* GCC's nested functions, which are called through trampolines on the stack and reach their parent's frame by the static chain; a jump out of one; and a function that leaves by __builtin_eh_return, as the unwinder of libgcc does. */
#include "lab.h"
#include <stdint.h>
#include <stdlib.h>

NOINLINE int leaf(int a) { return a * 3 + sink; }
NOINLINE int apply(int (*f)(int), int a) { return f(a) + leaf(a); }
NOINLINE int adds(int n) {
	int total = n;
	auto int add(int a);
	int __attribute__((noinline)) add(int a) { char b[30]; fill(b, 30, a); total += leaf(b[0]); return total; }
	return apply(add, n) + add(2);
}
NOINLINE int deeper(int n) {
	int outer = n;
	int __attribute__((noinline)) middle(int a) {
		int __attribute__((noinline)) inner(int b) { outer += b; return a > 0 ? middle(a - 1) : leaf(b); }
		return apply(inner, a) + outer;
	}
	return middle(n) + outer;
}
NOINLINE int jumps(int n) {
	__label__ out;
	int x = n;
	int __attribute__((noinline)) leaves(int a) { if (leaf(a) != 12345) goto out; return a; }
	x += apply(leaves, n);
out:
	return x + leaf(n);
}
NOINLINE int sorts(int n) {
	int v[12];
	int by(const void *a, const void *b) { return (*(const int *)a - *(const int *)b) * n + leaf(0) - leaf(0); }
	for (int i = 0; i < 12; i++) v[i] = i * 7 % 12;
	qsort(v, 12, sizeof *v, by);
	return v[n];
}

int main(void) {
	for (int i = 1; i < 5; i++) sink += adds(i) + deeper(i) + jumps(i) + sorts(i);
	return sink == 12345;
}
