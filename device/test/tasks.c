/* The contexts that kernels' ports save, as their sources say, and what ports makes of them: ok, or a letter for the
 * one that is wrong. */
#include "../ports/freertos/tasks.h"
#include "../ports/rtthread/threads.h"
#include "../ports/threadx/threads.h"
#include "../ports/zephyr/threads.h"
#include "board.h"

void start(void);
extern uint8_t stack_top[];

enum { HERE = 0x77777777, PLACE = 16 }; /* a pointer into the stack */

static bs_word stack[160];
static struct bs_regs regs;

enum kernel { FREERTOS, RTTHREAD, THREADX, ZEPHYR };

static int taken(enum kernel kernel, int port)
{
	bs_word at = (bs_word)(uintptr_t)stack;

	switch (kernel) {
	case FREERTOS: return bs_freertos_task(0, at, (enum bs_freertos_port)port, &regs);
	case RTTHREAD: return bs_rtthread_task(0, at, (enum bs_rtthread_port)port, &regs);
#if BS_MACHINE == BS_ARM
	case THREADX: return bs_threadx_task(0, at, &regs);
#endif
	default: return bs_zephyr_task(0, at, &regs);
	}
}

/* Registers have their number and 0x100, in the order that the format names; sp: how many words above the context. */
static int task(enum kernel kernel, int port, const bs_word *saved, unsigned n, int sp)
{
	unsigned k;
	int i, ok;

	for (k = 0; k < n; k++)
		stack[k] = saved[k] == HERE ? (bs_word)(uintptr_t)(stack + PLACE) : saved[k];
	ok = taken(kernel, port) && regs.pc == 0x1000 && regs.exact == (BS_MACHINE == BS_ARM || kernel != ZEPHYR) &&
	     regs.r[BS_SP] == (bs_word)(uintptr_t)(stack + sp);
#if BS_MACHINE == BS_ARM
	for (i = 0; i < 13; i++)
		ok = ok && (regs.known >> i & 1) && regs.r[i] == 0x100 + (bs_word)i;
	return ok && regs.r[BS_LR] == 0x10e;
#else
	static const uint8_t number[15] = {1, 2, 5, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};
	for (i = 0; i < 15; i++)
		ok = ok && (i == 1 || !(regs.known >> i & 1) || regs.r[i] == 0x100 + (bs_word)number[i]);
	return ok;
#endif
}

#if BS_MACHINE == BS_ARM
#define HIGH 0x104, 0x105, 0x106, 0x107, 0x108, 0x109, 0x10a, 0x10b
#define FLOATS 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
#define FRAME 0x100, 0x101, 0x102, 0x103, 0x10c, 0x10e, 0x1000, 0x01000000
static const bs_word cm3[] = {HIGH, FRAME}, cm4f[] = {HIGH, 0xfffffffd, FRAME}, lazy[] = {HIGH, 0xffffffed, FLOATS, FRAME};
static const bs_word cm0[] = {0xfffffffd, HIGH, FRAME}, cm33[] = {0x2000, 0xffffffbc, HIGH, FRAME}, tz[] = {0, 0x2000, 0xfffffffd, HIGH, FRAME};
#define N(a) a, sizeof a / sizeof a[0]

static const bs_word flag[] = {0, HIGH, FRAME}, flagged[] = {1, HIGH, FLOATS, FRAME}, m33[] = {0, 0xfffffffd, 0, 0, HIGH, FRAME};
static const bs_word zephyr[] = {HIGH, HERE, 0, 0, 0, 0, 0, 0, 0, FRAME};
#if defined(__thumb2__)
static const bs_word tx[] = {0xfffffffd, HIGH, FRAME};
#else
static const bs_word tx[] = {0xfffffffd, 0x108, 0x109, 0x10a, 0x10b, 0x104, 0x105, 0x106, 0x107, FRAME};
#endif

static char wrong(void)
{
	static const struct {
		enum kernel kernel;
		int port;
		const bs_word *saved;
		unsigned n;
		int sp;
	} tasks[] = {{FREERTOS, BS_FREERTOS_CM3, N(cm3), 16}, {FREERTOS, BS_FREERTOS_CM4F, N(cm4f), 17}, {FREERTOS, BS_FREERTOS_CM4F, N(lazy), 51},
		     {FREERTOS, BS_FREERTOS_CM0, N(cm0), 17}, {FREERTOS, BS_FREERTOS_CM33, N(cm33), 18}, {FREERTOS, BS_FREERTOS_CM33_TZ, N(tz), 19},
		     {RTTHREAD, BS_RTTHREAD_M3, N(cm3), 16}, {RTTHREAD, BS_RTTHREAD_FLAG, N(flag), 17}, {RTTHREAD, BS_RTTHREAD_FLAG, N(flagged), 51},
		     {RTTHREAD, BS_RTTHREAD_M33, N(m33), 20}, {THREADX, 0, N(tx), 17}, {ZEPHYR, 0, N(zephyr), 24}};
	unsigned i;

	for (i = 0; i < sizeof tasks / sizeof *tasks; i++)
		if (!task(tasks[i].kernel, tasks[i].port, tasks[i].saved, tasks[i].n, tasks[i].sp))
			return (char)('A' + i);
	return 0;
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {stack_top, start};
#else
#define X 0x101, 0x105, 0x106, 0x107, 0x108, 0x109, 0x10a, 0x10b, 0x10c, 0x10d, 0x10e, 0x10f, 0x110, 0x111, 0x112, 0x113, 0x114, 0x115, \
	0x116, 0x117, 0x118, 0x119, 0x11a, 0x11b, 0x11c, 0x11d, 0x11e, 0x11f
static const bs_word old[] = {0x1000, X, 0x1880}, nested[] = {0x1000, X, 1, 0x1880}, since[] = {0x1000, 0x1880, X, 1};
#define N(a) a, sizeof a / sizeof a[0]

static const bs_word rtthread[] = {0x1000, 0x101, 0x1880, 3, 4, 0x105, 0x106, 0x107, 0x108, 0x109, 0x10a, 0x10b, 0x10c, 0x10d, 0x10e, 0x10f, 0x110,
	0x111, 0x112, 0x113, 0x114, 0x115, 0x116, 0x117, 0x118, 0x119, 0x11a, 0x11b, 0x11c, 0x11d, 0x11e, 0x11f};
static const bs_word zephyr[] = {HERE, 0x1000, 0x108, 0x109, 0x112, 0x113, 0x114, 0x115, 0x116, 0x117, 0x118, 0x119, 0x11a, 0x11b};

static char wrong(void)
{
	if (!task(FREERTOS, BS_FREERTOS_RISCV, N(old), 30))
		return 'A';
	if (!task(FREERTOS, BS_FREERTOS_RISCV, N(nested), 31))
		return 'B';
	if (!task(FREERTOS, BS_FREERTOS_RISCV_11_3, N(since), 31) || !task(FREERTOS, BS_FREERTOS_RISCV, N(since), 31))
		return 'C';
	if (!task(FREERTOS, BS_FREERTOS_RISCV_11_3, N(old), 30) || !task(FREERTOS, BS_FREERTOS_RISCV_11_3, N(nested), 31))
		return 'F';
	if (!task(RTTHREAD, BS_RTTHREAD_RISCV, N(rtthread), 32))
		return 'D';
	return task(ZEPHYR, 0, N(zephyr), PLACE) ? 0 : 'E';
}

__asm__(".section .vectors, \"ax\"\n\t.globl _start\n_start:\n\tla sp, stack_top\n\tli ra, 0\n\tcall start\n\t.text");
#endif

__attribute__((used)) void start(void)
{
	char n;

	board_start();
	n = wrong();
	bs_put(0, n ? n : 'o');
	bs_put(0, n ? '?' : 'k');
	bs_end();
}
