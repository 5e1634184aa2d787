// Exceptions in flight: thrown through frames of the standard library, caught deep and shallow, rethrown from another place, out of constructors, callbacks of C and threads.
#include "lab.h"
#include <algorithm>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {
NOINLINE int leaf(int a) { return a * 3 + sink; }
struct guard {
	int n;
	explicit guard(int a) : n(leaf(a)) {}
	NOINLINE ~guard() { char b[40]; fill(b, 40, n); sink += leaf(n); }
};
NOINLINE int fails(int n) { guard g(n); if (n % 3 == 0) throw std::runtime_error("number " + std::to_string(n)); return leaf(n); }
NOINLINE int deep(int n) { guard g(n); std::string s(n, 'x'); return n ? deep(n - 1) + leaf((int)s.size()) : fails(3); }
struct made {
	guard a, b;
	explicit made(int n) : a(n), b(fails(n)) {}
};
NOINLINE int builds(int n) { try { auto p = std::make_unique<made>(n); return p->a.n; } catch (const std::exception &e) { return leaf(e.what()[0]); } }
NOINLINE int through(std::function<int(int)> f, int n) { guard g(n); std::vector<int> v{3, 1, 2}; std::sort(v.begin(), v.end(), [&](int a, int b) { return f(a) < f(b); }); return v[0]; }
NOINLINE int sorted(int n) { try { return through([n](int a) { return fails(a + n); }, n); } catch (...) { return leaf(n); } }
NOINLINE int kept(int n) {
	std::exception_ptr p;
	try { fails(n); } catch (...) { p = std::current_exception(); }
	if (!p) return leaf(n);
	try { std::rethrow_exception(p); } catch (const std::logic_error &) { return 1; } catch (const std::runtime_error &e) { return leaf((int)std::string(e.what()).size()); }
}
NOINLINE int parsed(const char *s) { try { return std::stoi(s); } catch (const std::invalid_argument &) { return leaf(1); } catch (const std::out_of_range &) { return leaf(2); } }
NOINLINE int mapped(int n) {
	std::map<std::string, int> m;
	for (int i = 0; i < n; i++) m["key" + std::to_string(i * 7 % 11)] += i;
	std::ostringstream o;
	for (auto &[k, v] : m) o << k << '=' << v << ' ';
	try { return m.at("none") + 1; } catch (const std::exception &) { return leaf((int)o.str().size()); }
}
}

int main() {
	for (int i = 1; i < 5; i++) {
		try { sink += deep(i * 2); } catch (const std::exception &e) { sink += leaf(e.what()[1]); }
		sink += builds(i) + sorted(i) + kept(i) + mapped(i * 4);
	}
	sink += parsed("12") + parsed("x") + parsed("99999999999999");
	return sink == 12345;
}
