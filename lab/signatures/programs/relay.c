// A relay of messages with twenty bugs, each behind two ways to it: relay BUG WAY.
#include <assert.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

struct peer { int id; char name[24]; struct peer *next; int (*send)(struct peer *, const char *); long sent; };
struct frame { int kind; int len; struct peer *from, *to; unsigned char body[96]; };

static struct peer *peers;
static volatile int way, zero;
static volatile long sink;

APART struct peer *peer_find(int id) {
	struct peer *p;
	for (p = peers; p; p = p->next)
		if (p->id == id) return p;
	fprintf(stderr, "peer %d is not known\n", id);
	return 0;
}
APART int plain_send(struct peer *p, const char *text) { p->sent += strlen(text); return printf("to %s: %s\n", p->name, text); }
APART struct peer *peer_new(int id, const char *name) {
	struct peer *p = calloc(1, sizeof *p);
	if (!p) { fprintf(stderr, "no room for peer %s\n", name); exit(3); }
	p->id = id; p->next = peers; p->send = plain_send;
	snprintf(p->name, sizeof p->name, "%s/%d", name, id);
	return peers = p;
}
#ifdef ELSEWHERE
APART int statistics(FILE *f) {
	struct peer *p; int n = 0;
	for (p = peers; p; p = p->next) n += fprintf(f, "%d %ld %s\n", p->id, p->sent, p->name);
	return n;
}
APART int self_test(void) { return statistics(stderr) + peer_find(1)->id * 7919; }
#endif
// null: four places
APART long route_cost(struct frame *f) { sink += printf("cost of %d bytes\n", f->len); return f->to->sent * 31 + f->len; }
APART int reply(struct frame *f) { char text[64]; snprintf(text, sizeof text, "reply %d", f->kind); return f->from->send(f->from, text); }
APART int label(struct peer *p, char *out) { sink++; return sprintf(out, "%s(%d)", p->name, p->id); }
APART void count_peers(struct peer **last) { int n = 0; struct peer *p; for (p = peers; p; p = p->next) n++; printf("%d peers\n", n); (*last)->sent = n; }
// calls and memory
APART int by_handler(struct frame *f) { int (*handler)(struct frame *) = (int (*)(struct frame *))(long)zero; printf("handler of kind %d\n", f->kind); return handler(f) + 1; }
APART int wild(struct frame *f) { int (*h)(int) = (int (*)(int))(0x41414140L + zero); puts("wild handler"); return h(f->len) + 2; }
APART void overrun(struct frame *f) { char *p = (char *)0x10000; fprintf(stderr, "copy of %d\n", f->len); memcpy(p + zero, f->body, 96); sink++; }
APART void constant(const char *s) { puts("into constants"); *(char *)s = 'x'; sink++; }
APART void twice(struct peer *p) { fprintf(stderr, "peer %s leaves\n", p->name); free(p); free(p); sink++; }
APART void stray(struct peer *p) { puts("gone"); free((char *)p + 8); sink++; }
APART void corrupt(void) { char *a = malloc(40); char *b = malloc(40); memset(a, 0x77, 72); fprintf(stderr, "heap %p %p\n", a, b); free(b); free(a); sink++; }
// assertions and the like
APART void check_kind(struct frame *f) { assert(f->kind < 90); sink++; }
APART void check_len(struct frame *f) { if (f->len > 96) { fprintf(stderr, "a frame of %d bytes\n", f->len); abort(); } sink++; }
APART void fatal(const char *why) { fprintf(stderr, "fatal: %s\n", why); abort(); }
APART void no_route(struct frame *f) { if (f->kind > 7) fatal("no route"); sink++; }
APART void trap(struct frame *f) { puts("trap"); if (f->len) __builtin_trap(); }
APART int share(struct frame *f) { printf("shares of %d\n", f->len); return f->len / zero + 3; }
APART void stop(struct frame *f) { fputs("stops itself\n", stderr); raise(SIGQUIT); sink += f->len; }
// recursion
APART long nest(struct frame *f, int depth) { struct frame copy = *f; copy.len += depth; if (depth < 0) return 0; sink++; return nest(&copy, depth + 1) + copy.body[depth & 63]; }
APART long even(struct frame *f, int n);
APART long odd(struct frame *f, int n) { char room[200]; memset(room, n, sizeof room); sink += room[n & 127]; return even(f, n + 1) + room[3]; }
APART long even(struct frame *f, int n) { char room[300]; snprintf(room, sizeof room, "even %d", n); return odd(f, n + 1) + room[4]; }
// handling in the library's own order
APART int compare(const void *a, const void *b) { const struct peer *p = *(struct peer *const *)a, *q = *(struct peer *const *)b; sink++; return p->next->id - q->id; }
APART void sorted(void) { struct peer *list[3] = {peers, peers, peers}; puts("sort"); qsort(list, 3, sizeof *list, compare); sink++; }

APART void bug(int n, struct frame *f) {
	char out[80];
	switch (n) {
	case 1: f->to = 0; sink = route_cost(f); break;
	case 2: f->from = 0; sink = reply(f); break;
	case 3: sink = label(peer_find(77), out); break;
	case 4: { struct peer *none = 0; count_peers(&none); break; }
	case 5: sink = by_handler(f); break;
	case 6: sink = wild(f); break;
	case 7: overrun(f); break;
	case 8: constant("constant"); break;
	case 9: twice(f->to); break;
	case 10: stray(f->to); break;
	case 11: corrupt(); break;
	case 12: f->kind = 99; check_kind(f); break;
	case 13: f->len = 999; check_len(f); break;
	case 14: f->kind = 50; no_route(f); break;
	case 15: trap(f); break;
	case 16: sink = share(f); break;
	case 17: stop(f); break;
	case 18: sink = nest(f, 0); break;
	case 19: sink = odd(f, 0); break;
	case 20: peers->next = 0; sorted(); break;
	}
	sink += n;
}
APART void on_packet(int n, struct frame *f) { f->kind = 5; printf("packet %d\n", n); bug(n, f); sink++; }
APART void on_timer(int n, struct frame *f) { f->kind = 6; fprintf(stderr, "timer %d\n", n); bug(n, f); sink += 2; }

int main(int argc, char **argv) {
	struct frame f;
	setvbuf(stdout, 0, _IONBF, 0);
	memset(&f, 0, sizeof f);
	f.len = 40; f.from = peer_new(1, "north"); f.to = peer_new(2, "south");
#ifdef ELSEWHERE
	if (argc > 5) return self_test();
#endif
	way = argc > 2 ? atoi(argv[2]) : 0;
	if (way) on_timer(atoi(argv[1]), &f); else on_packet(atoi(argv[1]), &f);
	return 0;
}
