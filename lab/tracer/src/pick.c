#include "pick.h"

#include <stdlib.h>

const char *const kind_names[KINDS] = { "entry", "prologue", "body", "epilogue", "leaf", "signal" };

/* How much of all captures a kind may have, in per cent. */
static const unsigned share[KINDS] = { 10, 25, 30, 25, 15, 20 };

/* A place is captured once, a kind a few times in a stretch of code. */
enum { stretch = 128, per_stretch = 2 };

static uint64_t place(uint64_t pc) { return pc << 4 | KINDS; }
static uint64_t stratum(enum kind k, uint64_t pc) { return (pc / stretch) << 4 | k; }

static size_t find(const struct pick *p, uint64_t key)
{
	size_t i = key * 0x9e3779b97f4a7c15 >> 20;
	for (i %= p->counts.room; p->counts.n[i] && p->counts.key[i] != key; i = (i + 1) % p->counts.room)
		;
	return i;
}

static unsigned count(const struct pick *p, uint64_t key)
{
	return p->counts.room ? p->counts.n[find(p, key)] : 0;
}

static void grow(struct pick *p)
{
	struct pick old = *p;
	p->counts.room = old.counts.room ? 2 * old.counts.room : 4096;
	p->counts.key = calloc(p->counts.room, sizeof *p->counts.key);
	p->counts.n = calloc(p->counts.room, sizeof *p->counts.n);
	if (!p->counts.key || !p->counts.n)
		abort();
	for (size_t i = 0; i < old.counts.room; i++) {
		if (!old.counts.n[i])
			continue;
		size_t to = find(p, old.counts.key[i]);
		p->counts.key[to] = old.counts.key[i];
		p->counts.n[to] = old.counts.n[i];
	}
	free(old.counts.key);
	free(old.counts.n);
}

static void add(struct pick *p, uint64_t key)
{
	if (2 * p->counts.used >= p->counts.room)
		grow(p);
	size_t i = find(p, key);
	p->counts.used += !p->counts.n[i];
	p->counts.key[i] = key;
	p->counts.n[i]++;
}

/* The share of a kind grows with the run. */
bool pick_wants(const struct pick *p, enum kind k, uint64_t pc, uint64_t step)
{
	if (p->taken >= p->keep || p->of[k] * 100 * p->total >= share[k] * p->keep * step)
		return false;
	return count(p, place(pc)) == 0 && count(p, stratum(k, pc)) < per_stretch;
}

void pick_took(struct pick *p, enum kind k, uint64_t pc)
{
	p->taken++;
	p->of[k]++;
	add(p, place(pc));
	add(p, stratum(k, pc));
}
