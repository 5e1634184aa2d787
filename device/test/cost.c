/* What a frame costs on a Linux machine: instructions of the reader, of GCC's backtrace() and of a scan
 * of the stack for return addresses, counted by the processor. Frames of one walk of the reader share its
 * cost evenly; x86-64.
 *
 *     cc -O2 -static -o cost cost.c ../backsight.c ../ports/linux/modules.c ../ports/linux/signal.c
 *     backsight table --add-section -o with-table cost && ./with-table */
#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

#include "../ports/linux/modules.h"

enum { MOST = 100000 };

static int counter;
static uint64_t empty; /* what counting itself costs */

struct costs {
	const char *name;
	uint32_t of[MOST];
	int n;
};

static struct costs reader = {"backsight", {0}, 0}, gcc = {"GCC's _Unwind_Backtrace", {0}, 0}, scan = {"a scan, per frame found", {0}, 0};

static uint64_t now(void)
{
	uint64_t v = 0;
	return read(counter, &v, sizeof v) == sizeof v ? v : 0;
}

static void note(struct costs *c, uint64_t from, uint64_t to)
{
	if (c->n < MOST)
		c->of[c->n++] = (uint32_t)(to - from - empty);
}

static uint64_t last;

static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *unused)
{
	uint64_t at = now();
	(void)unused;
	if (_Unwind_GetIP(context) == 0)
		return _URC_END_OF_STACK;
	note(&gcc, last, at);
	last = now();
	return _URC_NO_REASON;
}

extern char __executable_start, etext;

/* scanned goes up the stack to the words that point behind a call, as CmBacktrace does: an address in
 * code with the opcode of a near call five bytes before. */
static void scanned(const uintptr_t *sp, const uintptr_t *top)
{
	uint64_t from = now();
	for (; sp < top; sp++)
		if (*sp > (uintptr_t)&__executable_start + 5 && *sp < (uintptr_t)&etext && *(const uint8_t *)(*sp - 5) == 0xe8) {
			note(&scan, from, now());
			from = now();
		}
}

static const uintptr_t *bottom;

static void sample(void)
{
	void *pcs[64];
	volatile uintptr_t here = 0;
	uint64_t from = now();
	int i, n = bs_frames(&bs_linux_world, pcs, 64);

	from = (now() - from - empty) / (uint64_t)(n > 0 ? n : 1);
	for (i = 0; i < n; i++)
		note(&reader, 0, from + empty);
	last = now();
	_Unwind_Backtrace(frame, 0);
	scanned((const uintptr_t *)&here, bottom);
}

static int compare(const void *a, const void *b)
{
	static int calls;
	if (++calls % 16 == 0)
		sample();
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static int deep(int n, volatile int *room)
{
	volatile int more[32];
	int numbers[40], i;

	more[n & 31] = room[0];
	for (i = 0; i < 40; i++)
		numbers[i] = (i * 7919 + n) % 101;
	if (n == 0)
		return more[0];
	if (n % 3 == 0)
		qsort(numbers, 40, sizeof numbers[0], compare);
	return deep(n - 1, more) + numbers[n % 40];
}

static int smaller(const void *a, const void *b) { return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1; }

static void print(struct costs *c)
{
	if (c->n == 0)
		return;
	qsort(c->of, (size_t)c->n, sizeof c->of[0], smaller);
	printf("%-26s frames %6d   instructions: median %6u   99 %% up to %6u\n", c->name, c->n, c->of[c->n / 2], c->of[c->n * 99 / 100]);
}

int main(void)
{
	struct perf_event_attr what;
	volatile int room[2] = {0, 0};
	uint64_t from;
	int sum;

	memset(&what, 0, sizeof what);
	what.size = sizeof what;
	what.type = PERF_TYPE_HARDWARE;
	what.config = PERF_COUNT_HW_INSTRUCTIONS;
	what.exclude_kernel = 1;
	counter = (int)syscall(SYS_perf_event_open, &what, 0, -1, -1, 0);
	if (counter < 0) {
		perror("the processor's counter of instructions");
		return 2;
	}
	from = now();
	empty = now() - from;
	bottom = (const uintptr_t *)__builtin_frame_address(0);
	printf("%d tables\n", bs_linux_refresh());
	sum = deep(24, room);
	print(&reader);
	print(&gcc);
	print(&scan);
	return sum == -1;
}
