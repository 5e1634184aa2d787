/* Nothing is decoded and nothing is inferred from what lies on the stack: a call is
 * a jump that leaves the address behind it in the link register, or pushes it; a
 * return is the arrival at such an address with SP back. A delay slot belongs to
 * its branch, because the jump is seen behind the slot. */
#include "shadow.h"

#include <stdlib.h>

/* A signal frame has at least the registers of the CPU; no jump moves SP as far. */
enum { least_signal_frame = 128 };

/* A signal's trampoline is a few instructions that make the system call. */
enum { trampoline = 32 };

void shadow_reset(struct shadow *s, const struct abi *abi)
{
	s->abi = abi;
	s->n = 0;
	s->signals = 0;
	s->begun = false;
	s->mistaken = false;
}

static void push(struct shadow *s, struct activation a)
{
	if (s->n == s->room) {
		s->room = s->room ? 2 * s->room : 256;
		s->at = realloc(s->at, s->room * sizeof *s->at);
		if (!s->at)
			abort();
	}
	s->signals += a.signal;
	s->at[s->n++] = a;
}

static void cut(struct shadow *s, size_t n)
{
	while (s->n > n)
		s->signals -= s->at[--s->n].signal;
}

/* left is the return address that a call leaves behind. */
static uint64_t left(const struct shadow *s, const struct moment *now)
{
	return (s->abi->link ? now->lr : s->abi->load(now->sp)) & ~s->abi->mode;
}

/* at_call is SP in the caller at the call that now follows. */
static uint64_t at_call(const struct shadow *s, const struct moment *now)
{
	return now->sp + (s->abi->link ? 0 : s->abi->word);
}

/* bound: MIPS's lazy binding stub (MIPS ABI supplement, "Lazy Binding") copies ra to
 * t7 and calls the resolver, which jumps to the function with ra as the stub's
 * caller left it: nothing returns to the stub, whose call is a jump. */
static bool bound(const struct shadow *s, const struct moment *now)
{
	const struct activation *top = s->n ? &s->at[s->n - 1] : NULL;
	return top && s->abi->link && now->sp == top->cfa && now->t7 == top->ret;
}

static bool called(const struct shadow *s, const struct moment *now)
{
	const struct moment *was = &s->was;
	if (!s->abi->link && was->sp - now->sp != s->abi->word)
		return false;
	/* GCC's Thumb switches use lr as the base of the table behind them, an even address. */
	if (was->thumb && !(now->lr & 1))
		return false;
	return left(s, now) == was->pc + was->len && !bound(s, now);
}

/* delivered: SP has dropped by a frame, and something else than the last
 * instruction has made a return address. */
static bool delivered(const struct shadow *s, const struct moment *now)
{
	const struct moment *was = &s->was;
	if (now->sp >= was->sp || was->sp - now->sp < least_signal_frame)
		return false;
	return !s->abi->link || now->lr != was->lr;
}

/* gone removes the activations that SP says are over. Where a call pushes nothing, a
 * function without a frame runs with SP at its CFA, so that its end does not show;
 * unless others end with it: a longjmp or an exception. */
static void gone(struct shadow *s, uint64_t sp)
{
	bool several = !s->abi->link;
	size_t n = s->n;
	for (; n > 0; n--, several = true) {
		uint64_t cfa = s->at[n - 1].cfa;
		if (cfa > sp || (cfa == sp && !several))
			break;
	}
	cut(s, n);
}

static struct activation entered(const struct shadow *s, const struct moment *now, uint64_t ret)
{
	return (struct activation){ .ret = ret, .cfa = at_call(s, now), .start = now->pc, .low = now->sp };
}

/* resumed follows a handler's return. A signal that comes behind a jump interrupts the
 * place that the jump goes to, which shows only now: a call's callee begins here, then.
 * A second signal that was pending interrupts the same place. true: all is followed. */
static bool resumed(struct shadow *s, const struct moment *now, size_t signal)
{
	uint64_t next = s->at[signal].ret, start = s->at[signal].start;
	if (left(s, now) == start) {
		cut(s, signal + 1);
		push(s, entered(s, now, start));
		return true;
	}
	cut(s, signal);
	if (now->pc == next)
		return true;
	s->mistaken = true;
	if (left(s, now) != next)
		return false;
	push(s, entered(s, now, next));
	return true;
}

/* land removes what a return, a sigreturn or a longjmp has left. */
static void land(struct shadow *s, const struct moment *now)
{
	for (size_t i = s->n; s->signals && i-- > 0;) {
		if (s->at[i].signal && s->was.pc - s->at[i].start < trampoline) {
			if (resumed(s, now, i))
				return;
			break;
		}
	}
	for (size_t i = s->n; i-- > 0 && s->at[i].cfa <= now->sp;) {
		if (s->at[i].ret == now->pc && !s->at[i].signal) {
			cut(s, i);
			return;
		}
	}
	gone(s, now->sp);
}

/* transfer follows a jump. true: it was a call. */
static bool transfer(struct shadow *s, const struct moment *now)
{
	uint64_t next = s->was.pc + s->was.len;
	if (called(s, now)) {
		push(s, entered(s, now, next));
		return true;
	}
	if (delivered(s, now)) {
		push(s, (struct activation){ .ret = next, .cfa = s->was.sp, .start = left(s, now), .signal = true });
		push(s, entered(s, now, left(s, now)));
		return true;
	}
	land(s, now);
	return false;
}

bool shadow_step(struct shadow *s, const struct moment *now)
{
	bool call = s->begun && now->pc != s->was.pc + s->was.len && transfer(s, now);
	if (s->n > 0) {
		struct activation *top = &s->at[s->n - 1];
		if (!call)
			top->ran++;
		if (now->sp < top->low)
			top->low = now->sp;
	}
	s->was = *now;
	s->begun = true;
	return call;
}
