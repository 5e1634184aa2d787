/* Backtraces of a Linux program at any of its instructions, by several ways: the reader, GCC's
 * _Unwind_Backtrace, libunwind, and a scan of the stack. A timer's signal interrupts the program, and its
 * handler walks. Each walk is marked, so that an emulator can tell how many instructions it took and what
 * the true chain was (lab/tracer); what was found goes to the file that is given:
 *
 *     SAMPLE WAY PC PC …
 *
 *     cc -O2 -static -funwind-tables walks.c ../backsight.c ../ports/linux/*.c
 *     … -DLIBUNWIND -lunwind where there is one */
#define _GNU_SOURCE
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#ifdef LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif

#include "../ports/linux/modules.h"
#include "../ports/linux/scan.h"

enum { MOST = 128, SAMPLES = 200, MARK = 0x42536d6b };
enum way { NONE, READER, GCC, SCAN, UNWIND, WAYS };

/* The bit of a code address that tells the instruction set. */
#if defined(__arm__) || defined(__mips__)
static const uintptr_t mode = 1;
#else
static const uintptr_t mode = 0;
#endif

static FILE *out;
static volatile int sample;
static uintptr_t bottom;

struct chain {
	uintptr_t pcs[MOST];
	int n;
};

static void add(struct chain *c, uintptr_t pc)
{
	if (c->n < MOST)
		c->pcs[c->n++] = pc;
}

static void mark(enum way way, int end) { syscall(SYS_prctl, MARK, (sample * WAYS + (int)way) * 2 + end); }

static void report(enum way way, const struct chain *c)
{
	int i;

	fprintf(out, "%d %d", sample, (int)way);
	for (i = 0; i < c->n; i++)
		fprintf(out, " %lx", (unsigned long)c->pcs[i]);
	fputc('\n', out);
}

static void by_reader(struct chain *c, const void *context)
{
	struct bs_regs regs;
	bs_word pcs[MOST];
	enum bs_stop why;
	int i, n;

	mark(READER, 0);
	bs_linux_signal(context, &regs);
	n = bs_unwind(&bs_linux_world, &regs, pcs, MOST, &why);
	mark(READER, 1);
	for (i = 0; i < n; i++)
		add(c, (uintptr_t)pcs[i]);
}

static _Unwind_Reason_Code frame(struct _Unwind_Context *context, void *chain)
{
	uintptr_t pc = _Unwind_GetIP(context) & ~mode;

#if defined(__mips__)
	pc &= ~(uintptr_t)3; /* GCC adds 2 to the address of an interrupted instruction */
#endif
	add(chain, pc);
	return _URC_NO_REASON;
}

/* What crashes has the frames that it has found by then: others than the reader read what a return
 * address that they have got wrong points to. */
static sigjmp_buf crashed;

static void crash(int number)
{
	(void)number;
	siglongjmp(crashed, 1);
}

static void by_gcc(struct chain *c)
{
	mark(GCC, 0);
	if (sigsetjmp(crashed, 1) == 0)
		_Unwind_Backtrace(frame, c);
	mark(GCC, 1);
}

/* by_scan goes up the stack from where the signal interrupted the program, and takes what stands behind a call
 * by its opcode, as CmBacktrace does. */
static void by_scan(struct chain *c, const void *context)
{
	extern char __executable_start, etext;
	struct bs_regs regs;
	uintptr_t at;

	mark(SCAN, 0);
	bs_linux_signal(context, &regs);
	add(c, (uintptr_t)regs.pc);
	for (at = (uintptr_t)regs.r[BS_SP] & ~(sizeof at - 1); at < bottom; at += sizeof at)
		if (bs_linux_behind_call(*(const uintptr_t *)at, (uintptr_t)&__executable_start, (uintptr_t)&etext))
			add(c, *(const uintptr_t *)at & ~mode);
	mark(SCAN, 1);
}

#ifdef LIBUNWIND
static void by_libunwind(struct chain *c, ucontext_t *context)
{
	unw_cursor_t cursor;
	unw_word_t pc;
	unw_context_t *from = (unw_context_t *)context;
#if defined(__arm__) /* libunwind's context is no ucontext_t there */
	unw_context_t registers;

	memcpy(&registers, &context->uc_mcontext.arm_r0, sizeof registers);
	from = &registers;
#endif

	mark(UNWIND, 0);
	if (sigsetjmp(crashed, 1) == 0 && unw_init_local2(&cursor, from, UNW_INIT_SIGNAL_FRAME) == 0)
		do
			if (unw_get_reg(&cursor, UNW_REG_IP, &pc) == 0)
				add(c, (uintptr_t)pc & ~mode);
		while (c->n < MOST && unw_step(&cursor) > 0);
	mark(UNWIND, 1);
}
#endif

/* arm lets the next signal come. */
static void arm(void)
{
	struct itimerval next;

	memset(&next, 0, sizeof next);
	next.it_value.tv_usec = 300 + sample * 7919 % 2000;
	setitimer(ITIMER_REAL, &next, 0);
}

/* QEMU 7.2 enters handlers of x86-64 with a stack that is not aligned as the ABI wants. */
#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))
#endif
static void walk(int number, siginfo_t *info, void *context)
{
	static struct chain chains[WAYS];

	(void)number, (void)info;
	memset(chains, 0, sizeof chains);
	mark(NONE, 0);
	mark(NONE, 1);
	by_reader(&chains[READER], context);
	by_gcc(&chains[GCC]);
	by_scan(&chains[SCAN], context);
	report(READER, &chains[READER]);
	report(GCC, &chains[GCC]);
	report(SCAN, &chains[SCAN]);
#ifdef LIBUNWIND
	by_libunwind(&chains[UNWIND], context);
	report(UNWIND, &chains[UNWIND]);
#endif
	if (++sample < SAMPLES)
		arm();
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/* text makes code of the C library run that is deep. */
__attribute__((noinline)) static int text(int n)
{
	char *room = alloca((size_t)(40 + n % 7 * 16));

	snprintf(room, 40, "%d %s %.3f %x", n, "text", n / 7.0, n * 31);
	return (int)strlen(room) + (int)strtol(room, 0, 10);
}

__attribute__((noinline)) static int deep(int n, volatile int *above)
{
	volatile int room[32];
	int numbers[40], i;

	room[n & 31] = above[0];
	for (i = 0; i < 40; i++)
		numbers[i] = (i * 7919 + n) % 101;
	if (n == 0)
		return room[0] + text(numbers[3]);
	if (n % 3 == 0)
		qsort(numbers, 40, sizeof numbers[0], compare);
	return deep(n - 1, room) + numbers[n % 40] + text(n);
}

int main(int argc, char **argv)
{
	struct sigaction action;
	volatile int room[2] = {0, 0};
	int sum = 0, n = 0;

	out = argc > 1 ? fopen(argv[1], "w") : stdout;
	if (!out)
		return 2;
	bottom = (uintptr_t)__builtin_frame_address(0);
	fprintf(out, "%d tables\n", bs_linux_refresh());
	memset(&action, 0, sizeof action);
	action.sa_sigaction = walk;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGALRM, &action, 0);
	signal(SIGSEGV, crash);
	signal(SIGBUS, crash);
	arm();
	while (sample < SAMPLES)
		sum += deep(n++ % 24, room);
	return fclose(out) == 0 && sum != -1 ? 0 : 2;
}
