// C++ without the runtime's help: virtual calls, lambdas, destructors on the way out, references through templates, operator overloads.
#include "lab.h"

struct shape { virtual int area(int) const = 0; virtual ~shape() {} };
struct square : shape { int s; explicit square(int a) : s(a) {} NOINLINE int area(int k) const override { char b[16]; fill(b, 16, k); return s * s + b[2]; } };
struct ring : shape { int r; explicit ring(int a) : r(a) {} NOINLINE int area(int k) const override { return r * 3 + (k ? area(k - 1) : sink); } };

struct guard { int v; explicit guard(int a) : v(a) {} NOINLINE ~guard() { sink += v; } };

template <class F> NOINLINE int each(int n, F f) { int s = 0; for (int i = 0; i < n; i++) s += f(i); return s; }

NOINLINE int total(const shape *const *v, int n) { guard g(n); return each(n, [v](int i) { return v[i]->area(i); }); }
NOINLINE int guarded(int a) { guard one(a), two(a + 1); if (a > 3) return each(a, [](int i) { return i ^ sink; }); return a; }

int main() {
	square s(3); ring r(4);
	const shape *v[] = {&s, &r};
	sink += total(v, 2) + guarded(2) + guarded(5);
	return sink == 12345;
}
