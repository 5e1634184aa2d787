// A depot of parcels with twenty bugs, each behind two ways to it: depot BUG WAY. A bug that hangs waits for a signal from outside.
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static volatile int zero;
static volatile long sink;
static char *volatile kept; // what the compiler does not know

struct Parcel {
	std::string label;
	int weight;
	Parcel *inside = nullptr;
	Parcel(std::string l, int w) : label(std::move(l)), weight(w) {}
	virtual ~Parcel() = default;
	virtual int cost() const { return weight * 3; }
	virtual const char *kind() const { return "parcel"; }
};
struct Fragile : Parcel {
	using Parcel::Parcel;
	int cost() const override { return weight * 7 + 11; }
	const char *kind() const override { return "fragile"; }
};
struct Shelf {
	virtual int room() const = 0;
	Shelf() { announce(); }
	void announce() { std::printf("a shelf\n"); kept = (char *)this; describe((Shelf *)kept); }
	static void describe(const Shelf *s) { std::fprintf(stderr, "room for %d\n", s->room()); }
	virtual ~Shelf() = default;
};
struct Rack : Shelf { int room() const override { return 12; } };

class Depot {
public:
	std::map<std::string, std::unique_ptr<Parcel>> parcels;
	std::vector<int> days{3, 1, 4};
	std::mutex lock, gate;
	std::function<int(int)> tariff;

	void add(Parcel *p) { std::string l = p->label; parcels[l] = std::unique_ptr<Parcel>(p); }
	Parcel *find(const std::string &label) {
		auto i = parcels.find(label);
		if (i == parcels.end()) { std::fprintf(stderr, "no parcel %s\n", label.c_str()); return nullptr; }
		return i->second.get();
	}
	int weigh(const char *label) { Parcel *p = find(label); std::printf("weighing %s\n", label); return p->weight + zero; }
	int price(const char *label) { Parcel *p = find(label); std::printf("price of %s\n", label); return p->cost() * 2; }
	void refuse(const char *label) { std::printf("refuse %s\n", label); throw std::runtime_error(std::string("refused: ") + label); }
	int day(int n) { std::printf("day %d\n", n); return days.at(n) + 1; }
	void reserve(long n) { std::fprintf(stderr, "reserve %ld\n", n); std::vector<char> room(n); kept = room.data(); sink += room[5]; }
	Parcel &strict(const char *label) { std::printf("strictly %s\n", label); return *parcels.at(label); }
	void careful() noexcept { std::fprintf(stderr, "carefully\n"); check(-1); sink++; }
	void check(int weight) { if (weight < 0) throw std::invalid_argument("a weight below zero"); sink++; }
	void drop(const char *label) { Parcel *p = find(label); std::printf("dropping %s\n", label); delete p; delete p; }
	int ghost(const char *label) { Parcel *p = find(label); parcels[label].release(); delete p; std::printf("ghost of %s\n", label); return p->cost() + 5; }
	void seal(Parcel *p) { std::printf("sealing a %s\n", p->kind()); assert(p->weight < 1000 && "too heavy"); sink++; }
	long unpack(Parcel *p, int depth) { char note[128]; kept = note; std::snprintf(note, sizeof note, "depth %d of %s", depth, p->kind()); sink += note[7]; return unpack(p->inside ? p->inside : p, depth + 1) + note[3]; }
	void again() { std::fprintf(stderr, "once again\n"); throw; }
	void tag(const char *text) { std::printf("tagging\n"); std::string s(text); sink += s.size(); }
	int as_fragile(Parcel &p) { std::printf("as fragile: %s\n", p.kind()); return dynamic_cast<Fragile &>(p).weight + 1; }
	int charge(int w) { std::fprintf(stderr, "charging %d\n", w); return tariff(w) * 2; }
	void relabel(const char *label) { std::lock_guard<std::mutex> g(lock); std::printf("relabel %s\n", label); count(label); }
	void count(const char *label) { std::lock_guard<std::mutex> g(lock); sink += std::strlen(label); }
	void load() {
		std::lock_guard<std::mutex> g(lock);
		std::thread t([this] { std::lock_guard<std::mutex> a(gate); usleep(100000); std::lock_guard<std::mutex> b(lock); sink++; });
		usleep(200000);
		std::fprintf(stderr, "loading at the gate\n");
		std::lock_guard<std::mutex> h(gate);
		t.join();
	}
	void pack(int n) { std::vector<char> box(24); std::printf("packing %d\n", n); kept = box.data(); std::memset(kept, 0x5a, n); kept = nullptr; std::vector<char> next(5000); kept = next.data(); sink += box[1] + next.size(); }
	void hire() { std::thread t([] { usleep(50000); }); std::fprintf(stderr, "hired\n"); }
};
#ifdef ELSEWHERE
int inventory(const Depot &d) {
	int n = 0;
	for (auto &p : d.parcels) n += std::fprintf(stderr, "%s: %d of %s\n", p.first.c_str(), p.second->cost(), p.second->kind());
	return n % 6151;
}
#endif

__attribute__((noinline)) static void tour(Depot &d, int n) {
	switch (n) {
	case 1: sink = d.weigh("lost"); break;
	case 2: sink = d.price("gone"); break;
	case 3: d.refuse("books"); break;
	case 4: sink = d.day(12); break;
	case 5: d.reserve(1L << 62); break;
	case 6: sink = d.strict("unknown").weight; break;
	case 7: d.careful(); break;
	case 8: { Rack r; sink = r.room(); break; }
	case 9: d.drop("books"); break;
	case 10: sink = d.ghost("books"); break;
	case 11: { Parcel heavy("anvil", 5000); d.seal(&heavy); break; }
	case 12: sink = d.unpack(d.find("books"), 0); break;
	case 13: d.again(); break;
	case 14: d.tag(zero ? "x" : nullptr); break;
	case 15: sink = d.as_fragile(*d.find("books")); break;
	case 16: sink = d.charge(4); break;
	case 17: d.relabel("books"); break;
	case 18: d.load(); break;
	case 19: d.pack(100000); break;
	case 20: d.hire(); break;
	}
	sink += n;
}
static void truck(Depot &d, int n, int stops) {
	std::string s = "stop " + std::to_string(stops);
	std::fprintf(stderr, "%s\n", s.c_str());
	if (stops > 0) truck(d, n, stops - 1); else tour(d, n);
	sink += s.size();
}
__attribute__((noinline)) static void by_truck(Depot &d, int n) { std::printf("by truck\n"); truck(d, n, 4); sink += 5; }
__attribute__((noinline)) static void by_hand(Depot &d, int n) { std::fprintf(stderr, "by hand\n"); tour(d, n); sink += 6; }

int main(int argc, char **argv) {
	Depot d;
	d.add(new Parcel("books", 12));
	d.add(new Fragile("glass", 3));
#ifdef ELSEWHERE
	if (argc > 5) return inventory(d);
#endif
	if (argc > 2 && std::atoi(argv[2])) by_truck(d, std::atoi(argv[1])); else by_hand(d, std::atoi(argv[1]));
	return 0;
}
