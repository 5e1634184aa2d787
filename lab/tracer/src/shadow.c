/* Nothing is decoded and nothing is inferred from what lies on the stack: a call is
 * a jump that leaves the address behind it in the link register, or pushes it; a
 * return is the arrival at such an address with SP back. A delay slot belongs to
 * its branch, because the jump is seen behind the slot. */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

/* A signal frame has at least the registers of the CPU; no jump moves SP as far. */
enum { least_signal_frame = 128 };

/* A signal's trampoline is a few instructions that make the system call. */
enum { trampoline = 32 };

/* longjmp branches over a few instructions behind its switch of SP, before it jumps: glibc's
 * for MIPS by whether its result would be 0, that for ARM by whether there are VFP registers. */
enum { within = 64 };

/* What a switch of stacks moves SP by at least, and how far SP then is at most from where the stack was
 * left, if it goes on: the function that left it returns. */
enum { least_switch = 128, aside = 64 };

/* over bounds the data behind a call that only reads the PC: the words that musl's start code for MIPS has there. */
enum { over = 64 };

/* widest bounds a frame that is looked through for a return address, in words. */
enum { widest = 4096 };

void shadow_reset(struct shadow *s, const struct abi *abi)
{
	s->abi = abi;
	s->n = 0;
	s->signals = 0;
	s->begun = false;
	s->mistaken = false;
	s->millicode = 0;
	s->beside.a.ret = 0;
	memset(s->calls, 0, sizeof s->calls);
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
	a.serial = ++s->serial;
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
	return top && s->abi->link && !s->abi->millicode && now->sp == top->cfa && (now->alt & ~s->abi->mode) == top->ret;
}

static bool called(const struct shadow *s, const struct moment *now)
{
	const struct moment *was = &s->was;
	if (!s->abi->link && was->sp - now->sp != s->abi->word)
		return false;
	/* GCC's Thumb switches use lr as the base of the table behind them, an even address. */
	if (was->thumb && !(now->lr & 1))
		return false;
	return left(s, now) == was->pc + was->len;
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

/* gone removes the activations that SP says are over; false: there are none. Where a call pushes nothing, a
 * function without a frame runs with SP at its CFA, so that its end does not show;
 * unless others end with it: a longjmp or an exception. */
static bool gone(struct shadow *s, uint64_t sp)
{
	bool several = !s->abi->link;
	size_t n = s->n;
	for (; n > 0; n--, several = true) {
		uint64_t cfa = s->at[n - 1].cfa;
		if (cfa > sp || (cfa == sp && !several))
			break;
	}
	bool some = n < s->n;
	cut(s, n);
	return some;
}

/* call_at is the place of a return address among the calls that were made. */
static struct call *call_at(struct shadow *s, uint64_t ret)
{
	return &s->calls[(ret >> 1) % remembered];
}

/* jumped follows a jump that ends activations and is no return: a longjmp or an exception.
 * musl's sigsetjmp calls setjmp with its own return address put aside, and returns; the
 * longjmp comes back behind that call. No activation is that of sigsetjmp any more, and the
 * one that SP leaves is its caller's. */
static void jumped(struct shadow *s, uint64_t pc)
{
	const struct call *c = call_at(s, pc);
	struct activation *top = s->n ? &s->at[s->n - 1] : NULL;
	if (top && c->ret == pc && c->by != top->serial)
		top->strange = true;
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
	struct activation *stub = s->n ? &s->at[s->n - 1] : NULL;
	if (stub && stub->binding && left(s, now) == stub->ret) { /* the resolver jumps to the function, be that where the call returns to */
		stub->binding = false;
		return;
	}
	size_t top = s->n - 1; /* the handler has returned: code of a static program stands behind a trampoline */
	if (s->n > 0 && s->at[top].signal && s->was.pc - s->at[top].start < trampoline && resumed(s, now, top))
		return;
	for (size_t i = s->n; i-- > 0 && s->at[i].cfa <= now->sp;) {
		if (s->at[i].ret == now->pc && !s->at[i].signal) {
			cut(s, i);
			return;
		}
	}
	bool stays = now->pc - s->was.pc < within; /* forward */
	if (!stays && gone(s, now->sp))
		jumped(s, now->pc);
}

/* over_data removes the innermost activation where it was none: a call over a few words that are data, which the
 * code that it leads to finds by the return address. That code calls another function and has kept the return
 * address nowhere.
 *
 *	bal 1f; .gpdword .; .gpdword _start_c; 1: ld $gp,0($ra)
 */
static void over_data(struct shadow *s)
{
	const struct activation *top = s->n ? &s->at[s->n - 1] : NULL;
	if (top && s->abi->link && !top->signal && s->was.sp == top->cfa && top->start != top->ret && top->start - top->ret < over)
		cut(s, s->n - 1);
}

/* stored tells whether a return address lies on the stack between two places. */
static bool stored(const struct shadow *s, uint64_t from, uint64_t to, uint64_t ret)
{
	for (unsigned i = 0; i < widest && from < to; i++, from += s->abi->word)
		if ((s->abi->load(from) & ~s->abi->mode) == ret)
			return true;
	return false;
}

/* decide tells what a jump to the next instruction was, once the link register has another value: a call, if what
 * begins there has kept the return address in a frame of its own. */
static void decide(struct shadow *s, const struct moment *now)
{
	struct beside *b = &s->beside;
	if (!b->a.ret || s->n > b->n || (s->n == b->n && (now->lr & ~s->abi->mode) == b->a.ret))
		return;
	uint64_t sp = s->was.sp < now->sp ? s->was.sp : now->sp;
	if (s->n == b->n && stored(s, sp, b->a.cfa, b->a.ret))
		push(s, b->a);
	b->a.ret = 0;
}

/* transfer follows a jump. true: it was a call. */
static bool transfer(struct shadow *s, const struct moment *now)
{
	uint64_t next = s->was.pc + s->was.len;
	if (called(s, now)) {
		if (bound(s, now)) {
			s->at[s->n - 1].binding = true;
			return false;
		}
		over_data(s);
		*call_at(s, next) = (struct call){ .ret = next, .by = s->n ? s->at[s->n - 1].serial : 0 };
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

/* changed follows a switch to another stack (Go's systemstack, mcall, gogo). One that was left just there
 * goes on; of any other nothing is known yet: what lies on it may have been copied, or is over. */
static void changed(struct shadow *s, uint64_t sp)
{
	struct parked now = { .at = NULL };
	for (size_t i = 0; i < stacks && !now.at; i++) {
		struct parked *l = &s->left[i];
		if (l->at && sp - l->sp + aside <= 2 * aside) {
			now = *l;
			*l = (struct parked){ .at = NULL };
		}
	}
	struct parked *to = &s->left[s->leaves++ % stacks];
	free(to->at);
	*to = (struct parked){ .at = s->at, .n = s->n, .room = s->room, .signals = s->signals, .sp = s->was.sp };
	s->at = now.at;
	s->n = now.n;
	s->room = now.room;
	s->signals = now.signals;
}

/* switched tells whether the last instruction, of a function that changes stacks, has done so. */
static bool switched(const struct shadow *s, const struct moment *now)
{
	return s->begun && s->was.switches && now->sp - s->was.sp + least_switch > 2 * least_switch;
}

bool shadow_step(struct shadow *s, const struct moment *now)
{
	if (switched(s, now)) {
		changed(s, now->sp);
		s->was.sp = now->sp;
	}
	uint64_t next = s->was.pc + s->was.len;
	bool away = s->begun && now->pc != next;
	decide(s, now);
	bool call = away && transfer(s, now);
	bool linked = now->lr != s->was.lr || s->was.lr != s->earlier;
	if (s->begun && !away && s->abi->link && linked && left(s, now) == next)
		s->beside = (struct beside){ .a = entered(s, now, next), .n = s->n };
	if (now->pc == s->millicode)
		s->millicode = 0;
	if (away && s->abi->millicode && now->alt == next)
		s->millicode = next;
	if (s->n > 0) {
		struct activation *top = &s->at[s->n - 1];
		if (now->sp == top->cfa) /* no frame yet, or no more: a tail call may make another */
			memset(top->saved, 0, sizeof top->saved);
		if (!call)
			top->ran++;
		if (now->sp < top->low)
			top->low = now->sp;
	}
	s->earlier = s->was.lr;
	s->was = *now;
	s->begun = true;
	return call;
}
