/* C++: exceptions thrown through frames with destructors, virtual calls, lambdas, templates, constructors that call. */
#include "lab.h"

namespace {
struct guard {
	int *at, by;
	guard(int *p, int n) : at(p), by(n) { *at += by; }
	NOINLINE ~guard() { char b[24]; fill(b, 24, by); *at -= by + b[1] * 0; }
};
struct fault { int code; };

NOINLINE int one(int a) { return a + sink; }
NOINLINE void thrower(int n) { char b[32]; fill(b, 32, n); if (n > 1) throw fault{n + b[1]}; sink += n; }
NOINLINE int through(int n) { int x = n; guard g(&x, 3); thrower(n); return x + one(n); }
NOINLINE int twice(int n) { int x = n; guard g(&x, 5); guard h(&x, 7); return through(n) + through(x); }
NOINLINE int catches(int n) {
	try { return twice(n) + 1; } catch (const fault &f) { return one(f.code); }
}
NOINLINE int rethrows(int n) {
	try {
		try { return twice(n); } catch (const fault &f) { one(f.code); throw; }
	} catch (...) { return one(n) + 9; }
}

struct shape {
	virtual int area(int n) { return one(n); }
	virtual int named(int n) = 0;
	virtual ~shape() { sink += one(1); }
	NOINLINE int both(int n) { return area(n) + named(n) * 2; }
};
struct square : shape {
	int side;
	explicit square(int s) : side(s) { sink += one(s); }
	int area(int n) override { return shape::area(n) * side; }
	int named(int n) override { char b[16]; fill(b, 16, n); return b[1] + one(side); }
};
struct mixin { virtual int more(int n) { return one(n) ^ 1; } virtual ~mixin() {} };
/* more() of the second base is called through a thunk that adjusts this. */
struct cube : square, mixin {
	using square::square;
	int more(int n) override { return named(n) + side; }
	int named(int n) override { return square::named(n) * 3; }
};

template <class T, int N> struct ring {
	T at[N];
	NOINLINE T sum(T from) { T s = from; for (int i = 0; i < N; i++) s += at[i] * one(i); return s; }
};
template <class F> NOINLINE int apply(F f, int n) { return f(n) + f(n + 1); }
template <class T> NOINLINE T fold(T a) { return one((int)a); }
template <class T, class... U> NOINLINE T fold(T a, U... rest) { return a + fold<T>(rest...); }

NOINLINE int lambdas(int n) {
	int k = n;
	auto add = [&](int a) { k += one(a); return k; };
	return apply(add, n) + apply([n](int a) { char b[20]; fill(b, 20, a); return b[1] + n; }, 2);
}
NOINLINE int viaMixin(mixin *m, int n) { return m->more(n) + 1; }
NOINLINE int viaShape(shape *s, int n) { return s->both(n) + s->area(1); }
}

int main() {
	square s(4);
	cube c(2);
	ring<long, 3> r = {{1, 2, 3}};
	sink += viaShape(&s, 2) + viaShape(&c, 3) + viaMixin(&c, 4) + (int)r.sum(5) + lambdas(6) + fold(1, 2L, (short)3);
	sink += catches(1) + catches(2) + rethrows(3);
	return sink == 12345;
}
