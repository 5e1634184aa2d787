/* C++: streams, strings, operators, templates with several arguments, a class with members by value. */
#include "lab.h"
#include <array>
#include <functional>
#include <iostream>
#include <list>
#include <sstream>

namespace {
struct Big {
	std::array<unsigned, 24> digits{};
	NOINLINE Big &operator+=(const Big &o) {
		unsigned long long carry = 0;
		for (size_t i = 0; i < digits.size(); i++) { carry += digits[i] + (unsigned long long)o.digits[i]; digits[i] = unsigned(carry); carry >>= 32; }
		return *this;
	}
	friend NOINLINE Big operator*(Big a, unsigned n) { Big r; for (; n; n >>= 1) { if (n & 1) r += a; a += Big(a); } return r; }
};
std::ostream &operator<<(std::ostream &o, const Big &b) { for (auto d : b.digits) if (d) o << d << ' '; return o; }
template <class F, class... A> NOINLINE auto call(F f, A... a) { return f(a...); }
struct Queue {
	std::list<std::function<int(int)>> jobs;
	NOINLINE int run(int n) { while (!jobs.empty()) { n = jobs.front()(n); jobs.pop_front(); } return n; }
};
NOINLINE int text(int n) {
	std::ostringstream s;
	Big b;
	b.digits[0] = 77;
	s << n << ": " << b * 1000u << std::hex << n;
	return int(s.str().size());
}
}
int main() {
	Queue q;
	int k = sink;
	q.jobs.push_back([k](int n) { return n + k; });
	q.jobs.push_back(text);
	q.jobs.push_back([](int n) { return call([](int a, long b, double c) { return int(a + b + c); }, n, 2L, 3.5); });
	sink = q.run(3);
	std::cout << sink << "\n";
	return 0;
}
