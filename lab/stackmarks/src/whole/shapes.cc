/* C++ with virtual functions, templates, containers of the standard library and destructors. */
#include "lab.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace {
struct Shape {
	virtual ~Shape() = default;
	virtual double area() const = 0;
	virtual std::string name() const { return "shape"; }
};
struct Circle : Shape {
	double r;
	explicit Circle(double r) : r(r) {}
	double area() const override { return r * r * 3.14159; }
	std::string name() const override { return "circle " + std::to_string(int(r)); }
};
struct Box : Shape {
	double a, b;
	Box(double a, double b) : a(a), b(b) {}
	double area() const override { return a * b; }
};
struct Tower : Box {
	std::vector<std::unique_ptr<Shape>> parts;
	Tower() : Box(1, 1) {}
	double area() const override {
		double sum = Box::area();
		for (auto &p : parts) sum += p->area();
		return sum;
	}
};
template <class T> NOINLINE T largest(const std::vector<T> &v) { return *std::max_element(v.begin(), v.end()); }
NOINLINE std::unique_ptr<Shape> make(int n) {
	if (n % 3 == 0) return std::make_unique<Circle>(n);
	if (n % 3 == 1) return std::make_unique<Box>(n, n + 1);
	auto t = std::make_unique<Tower>();
	for (int i = 0; i < n; i += 2) t->parts.push_back(std::make_unique<Box>(i, 2));
	return t;
}
NOINLINE int census(int n) {
	std::map<std::string, int> names;
	std::vector<double> areas;
	for (int i = 0; i < n; i++) {
		auto s = make(i);
		names[s->name()]++;
		areas.push_back(s->area());
	}
	std::sort(areas.begin(), areas.end(), [](double x, double y) { return x > y; });
	return int(largest(areas)) + int(names.size());
}
}
int main() { sink = census(9 + sink); return 0; }
