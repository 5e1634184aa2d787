/* Rules out of the code itself, at run time. Forward from where a frame stands to a return, the code says what it will undo: how far
 * the stack pointer goes up, where registers come back from. On the way a call forgets the link register, so that a path
 * that runs out of the function finds no return address. A function that never returns says by its prologue what it has
 * done; as where functions begin is not known, that is a guess. */
#include "code.h"

#include <string.h>

/* Whether a call pushes its return address. */
#define CALL_PUSHES (BS_MACHINE == BS_X86_64 || BS_MACHINE == BS_I386)

enum { PENDING = 6, SEEN = 48, MOST = 4000, MOST_BACK = 16384 };

#if BS_MACHINE == BS_MIPS || BS_MACHINE == BS_AARCH64
enum { STEP = 4 };
#else
enum { STEP = 2 };
#endif

int code_fetch(const struct path *p, bs_word at, unsigned size, uint32_t *value)
{
	bs_word word;
	uint32_t part = 0;
	unsigned i;

	*value = 0;
	for (i = 0; i < size; i += 2, at += 2) {
		if (!bs_linux_read(p->pages, at & ~(bs_word)(BS_WORD - 1), &word))
			return 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
		part = (uint32_t)(word >> (BS_WORD - 2 - (at & (BS_WORD - 1))) * 8) & 0xffff;
		*value = *value << 16 | part;
#else
		part = (uint32_t)(word >> (at & (BS_WORD - 1)) * 8) & 0xffff;
		*value |= part << 8 * i;
#endif
	}
	return 1;
}

void code_forget(struct path *p, int r)
{
	if (r >= 0)
		p->r[r].kind = UNKNOWN;
}

void code_number(struct path *p, int r, int32_t n)
{
	if (r < 0)
		return;
	p->r[r].kind = NUMBER;
	p->r[r].n = n;
}

/* above is so many bytes above a value; UNKNOWN where that is no ADDRESS and no NUMBER, or far away. */
static struct value above(struct value v, int64_t n)
{
	n += v.n;
	if ((v.kind != ADDRESS && v.kind != NUMBER) || n != (int32_t)n)
		v.kind = UNKNOWN;
	v.n = (int32_t)n;
	return v;
}

void code_add(struct path *p, int to, int from, int32_t n)
{
	if (to < 0)
		return;
	if (from < 0)
		p->r[to].kind = UNKNOWN;
	else if (n != 0 || to != from)
		p->r[to] = n == 0 ? p->r[from] : above(p->r[from], n);
}

void code_sum(struct path *p, int to, int a, int b, int sign)
{
	if (to < 0)
		return;
	if (a >= 0 && b >= 0 && sign > 0 && p->r[a].kind == NUMBER) {
		int swap = a;
		a = b;
		b = swap;
	}
	if (a < 0 || b < 0 || p->r[b].kind != NUMBER)
		p->r[to].kind = UNKNOWN;
	else
		p->r[to] = above(p->r[a], sign * (int64_t)p->r[b].n);
}

static int same(const struct value *a, const struct value *b) { return a->kind == b->kind && a->base == b->base && a->n == b->n; }

/* store_of is the place of what has been stored at an address, or of nothing; -1 where there is no more room. */
static int store_of(const struct path *p, const struct value *at)
{
	int i, empty = -1;

	for (i = STORES - 1; i >= 0; i--)
		if (same(&p->stored[i].at, at))
			return i;
		else if (p->stored[i].at.kind == UNKNOWN)
			empty = i;
	return empty;
}

void code_load(struct path *p, int to, int base, int32_t n)
{
	struct value at;
	int i;

	if (to < 0)
		return;
	p->r[to].kind = UNKNOWN;
	if (base < 0)
		return;
	at = above(p->r[base], n);
	if (at.kind != ADDRESS)
		return;
	i = store_of(p, &at);
	if (i >= 0 && p->stored[i].at.kind != UNKNOWN)
		p->r[to] = p->stored[i].v;
	else {
		p->r[to] = at;
		p->r[to].kind = SAVED;
	}
}

void code_store(struct path *p, int from, int base, int32_t n)
{
	struct value at;
	int i;

	if (base < 0)
		return;
	at = above(p->r[base], n);
	i = at.kind == ADDRESS ? store_of(p, &at) : -1;
	if (i < 0)
		return;
	if (from >= 0 && (p->r[from].kind == ADDRESS || p->r[from].kind == SAVED)) {
		p->stored[i].at = at;
		p->stored[i].v = p->r[from];
	} else if (p->stored[i].at.kind != UNKNOWN)
		p->stored[i].v.kind = UNKNOWN;
}

/* start is a path that begins with all registers as they are. */
static void start(struct path *p, bs_word pc, struct bs_linux_pages *pages)
{
	int i;

	memset(p, 0, sizeof *p);
	p->pc = p->start = pc;
	p->pages = pages;
#if BS_MACHINE == BS_ARM
	p->mode = code_mode(p);
#endif
	for (i = 0; i < 16; i++) {
		p->r[i].kind = ADDRESS;
		p->r[i].base = (uint8_t)i;
	}
}

/* called forgets what a call does not preserve. */
static void called(struct path *p)
{
	int i;

	p->calls++;
	if (p->r[BS_SP].kind == ADDRESS && p->r[BS_SP].base == BS_SP && (p->at_call.kind == UNKNOWN || p->at_call.n < p->r[BS_SP].n))
		p->at_call = p->r[BS_SP];
	for (i = 0; i < 16; i++)
		if (i != BS_SP && !(BS_PRESERVED >> i & 1))
			p->r[i].kind = UNKNOWN;
}

/* slot is where a value is saved, in words above a register. What lies below the stack pointer has the path stored itself. */
static int slot(const struct value *v, int base)
{
	return v->kind == SAVED && v->base == base && (base != BS_SP || v->n >= 0) && v->n % BS_WORD == 0 && v->n / BS_WORD > BS_KEPT && v->n / BS_WORD < BS_LOST
		       ? v->n / BS_WORD : BS_LOST;
}

#if CALL_PUSHES

/* bare tells whether a path may be that of a function without a frame, which calls one near by whose stack need not be aligned:
 *
 *	cmp:	mov $8,%edi; call bad; add $1,%eax; ret */
static int bare(const struct path *p, int exact)
{
	return !exact && p->calls == 1 && p->at_call.n == 0 && p->r[BS_SP].n == 0 && !code_fills(p, p->start);
}

/* found_return finds the stack pointer and the return address at a return. Behind a call that does not return may stand another
 * function, which ends as high on the stack as that call was: a guess, where it may also be the caller. On i386, calls have arguments on
 * the stack, which nobody takes away then, and some functions take them away themselves: without a frame pointer, the stack pointer is
 * a guess. */
static int found_return(const struct path *p, int exact, struct bs_rule *rule)
{
	const struct value *sp = &p->r[BS_SP], *call = &p->at_call;

	rule->base = sp->base;
	rule->offset = sp->n / BS_WORD;
	rule->flags = BS_BELOW | BS_LOAD;
	rule->ra = -1;
	if (sp->n % BS_WORD != 0)
		return 0;
	if (sp->kind == LOADED)
		return 1;
	if (sp->kind != ADDRESS || rule->offset <= BS_KEPT || rule->offset >= BS_LOST - 1 ||
	    (sp->base == BS_SP && (sp->n < 0 || (call->kind == ADDRESS && sp->n <= call->n && !bare(p, exact)))))
		return 0;
	rule->ra = (int16_t)rule->offset++;
	rule->flags = (uint8_t)(BS_BELOW | BS_RA_BELOW | (sp->base == BS_SP && (BS_MACHINE == BS_I386 || bare(p, exact)) ? BS_GUESSED : 0));
	return 1;
}

#else

static int found_return(const struct path *p, int exact, struct bs_rule *rule)
{
	const struct value *sp = &p->r[BS_SP], *ra = &p->r[BS_LR];

	if (sp->kind != ADDRESS || sp->n % BS_WORD != 0 || (sp->base == BS_SP && sp->n < 0))
		return 0;
	rule->base = sp->base;
	rule->offset = sp->n / BS_WORD;
	rule->flags = BS_BELOW | BS_RA_BELOW;
	rule->ra = (int16_t)slot(ra, sp->base);
	if (ra->kind == ADDRESS && ra->n == 0 && exact) {
		rule->flags = BS_BELOW | BS_RA_REGISTER;
		rule->ra = ra->base;
	} else if (rule->ra == BS_LOST || ra->n >= sp->n)
		return 0;
	return 1;
}

#endif

/* returned makes a rule of a path that has come to a return. */
static int returned(const struct path *p, int exact, struct bs_rule *rule)
{
	int i;

	if (!found_return(p, exact, rule))
		return 0;
	for (i = 0; i < 16; i++) {
		const struct value *v = &p->r[i];
		int kept = v->kind == ADDRESS && v->base == i && v->n == 0;
		rule->slot[i] = (int16_t)(!(BS_PRESERVED >> i & 1) ? BS_LOST : kept ? BS_KEPT : slot(v, rule->base));
	}
	return 1;
}

/* What is still to be explored, and which targets were noted. */
struct search {
	const struct bs_linux_module *m;
	struct path pending[PENDING];
	bs_word seen[SEEN];
	int pending_count, seen_count, steps;
};

/* note tells whether a target is new, and notes it. */
static int note(struct search *s, bs_word target)
{
	int i;

	for (i = 0; i < s->seen_count; i++)
		if (s->seen[i] == target)
			return 0;
	if (s->seen_count == SEEN)
		return 0;
	s->seen[s->seen_count++] = target;
	return 1;
}

/* finished tells whether the return address has been loaded and the stack is above it: what a jump leads to then is called in the
 * last place. */
static int finished(const struct path *p)
{
#if CALL_PUSHES
	(void)p;
	return 0;
#else
	const struct value *sp = &p->r[BS_SP], *ra = &p->r[BS_LR];
	return ra->kind == SAVED && ra->base == sp->base && sp->kind == ADDRESS && sp->base == BS_SP && ra->n >= 0 && ra->n < sp->n;
#endif
}

/* follow goes along a path to its end; true: that is a return. */
static int follow(struct search *s, struct path *p)
{
	struct flow f;
	struct path taken;

	while (s->steps++ < MOST && p->pc >= s->m->low && p->pc < s->m->high && code_flow(p, &f)) {
		bs_word at = p->pc;
		if (f.kind == NEXT)
			code_effect(p, at);
		p->pc += f.size * (f.slot ? 2 : 1);
		if (f.slot == SLOT)
			code_effect(p, at + f.size);
		switch (f.kind) {
		case NEXT: break;
		case BRANCH:
			if (s->pending_count == PENDING || !note(s, f.target))
				break;
			taken = *p;
			taken.pc = f.target;
			if (f.slot == TAKEN_SLOT)
				code_effect(&taken, at + f.size);
			s->pending[s->pending_count++] = taken;
			break;
		case JUMP:
			if (finished(p))
				return 1;
			if (!note(s, f.target))
				return 0;
			p->pc = f.target;
			break;
		case CALL: called(p); break;
		case RETURN:
			if (f.slot == ITSELF)
				code_effect(p, at);
			return 1;
		case DEAD: return 0;
		}
	}
	return 0;
}

static int forward(struct search *s, bs_word pc, int exact, struct bs_rule *rule, struct bs_linux_pages *pages)
{
	struct path p;

	s->pending_count = s->seen_count = s->steps = 0;
	start(&p, pc, pages);
	if (!exact)
		called(&p);
	for (;;) {
		if (follow(s, &p) && returned(&p, exact, rule))
			return 1;
		if (s->pending_count == 0)
			return 0;
		p = s->pending[--s->pending_count];
	}
}

#if CALL_PUSHES

/* Where instructions begin is not known backwards. */
static int backward(const struct bs_linux_module *m, bs_word end, int exact, struct bs_rule *rule, struct bs_linux_pages *pages)
{
	(void)m, (void)end, (void)exact, (void)rule, (void)pages;
	return 0;
}

#else

/* saved_at is where on the stack the first value of a register was stored, 0 for nowhere. */
static const struct value *saved_at(const struct path *p, int r)
{
	int i;

	for (i = 0; i < STORES; i++) {
		const struct value *at = &p->stored[i].at, *v = &p->stored[i].v;
		if (at->kind == ADDRESS && at->base == BS_SP && v->kind == ADDRESS && v->base == r && v->n == 0)
			return at;
	}
	return 0;
}

/* done makes a rule of what a path from a function's beginning has done. */
static int done(const struct path *p, int exact, struct bs_rule *rule)
{
	int i, base = p->r[BS_SP].kind == ADDRESS ? BS_SP : BS_FP;
	const struct value *v = &p->r[base], *ra = saved_at(p, BS_LR);

	if (v->kind != ADDRESS || v->base != BS_SP || v->n > 0 || v->n % BS_WORD != 0)
		return 0;
	rule->base = (uint8_t)base;
	rule->offset = -(v->n / BS_WORD);
	rule->flags = BS_GUESSED;
	rule->ra = (int16_t)(ra ? ra->n / BS_WORD : 0);
	if (!ra) {
		if (!exact || p->r[BS_LR].kind != ADDRESS)
			return 0;
		rule->flags |= BS_RA_REGISTER;
		rule->ra = BS_LR;
	}
	for (i = 0; i < 16; i++) {
		const struct value *saved = saved_at(p, i);
		rule->slot[i] = (int16_t)(!(BS_PRESERVED >> i & 1) ? BS_LOST : saved ? saved->n / BS_WORD : BS_KEPT);
	}
	return 1;
}

/* backward looks for the stack pointer's decrement before an address, and does from there on what stands there. A return that
 * stands nearer is another function's end, if the frame need not have saved anything. */
static int backward(const struct bs_linux_module *m, bs_word end, int exact, struct bs_rule *rule, struct bs_linux_pages *pages)
{
	struct path p;
	struct flow f;
	bs_word at;
	int i;

	for (at = end - STEP, i = 0; i < MOST_BACK / STEP && at >= m->low && at < end; i++, at -= STEP) {
		start(&p, at, pages);
		if (!code_flow(&p, &f))
			return 0;
		if (exact && f.kind == RETURN) {
			at += f.size * (f.slot ? 2 : 1);
			break;
		}
		if (f.kind != NEXT)
			continue;
		code_effect(&p, at);
		if (p.r[BS_SP].kind == ADDRESS && p.r[BS_SP].n < 0)
			break;
	}
	start(&p, at, pages);
	if (i == MOST_BACK / STEP || at < m->low || at > end)
		return 0;
	while (p.pc < end && code_flow(&p, &f)) {
		if (f.kind == CALL)
			called(&p);
		code_effect(&p, p.pc);
		p.pc += f.size;
	}
	return done(&p, exact, rule);
}

#endif

int bs_linux_by_code(const struct bs_linux_module *m, bs_word at, int exact, struct bs_rule *rule)
{
	struct bs_linux_pages pages = {0, 0};
	struct search s;

	at += exact ? 0 : 1; /* behind the call */
	s.m = m;
	return forward(&s, at, exact, rule, &pages) || backward(m, at, exact, rule, &pages);
}
