/* The contexts that FreeRTOS' ports save, as their sources say, and what ports/freertos makes of them: ok, or the number of the
 * one that is wrong. */
#include "../ports/freertos/tasks.h"
#include "board.h"

void start(void);
extern uint8_t stack_top[];

static bs_word stack[160];
static struct bs_regs regs;

/* Registers have their number and 0x100, in the order that the format names. */
static int task(enum bs_freertos_port port, const bs_word *saved, int n, int sp)
{
	int i, ok;

	for (i = 0; i < n; i++)
		stack[i] = saved[i];
	ok = bs_freertos_task(0, (bs_word)(uintptr_t)stack, port, &regs) && regs.pc == 0x1000 && regs.exact &&
	     regs.r[BS_SP] == (bs_word)(uintptr_t)(stack + sp);
#if BS_MACHINE == BS_ARM
	for (i = 0; i < 13; i++)
		ok = ok && (regs.known >> i & 1) && regs.r[i] == 0x100 + (bs_word)i;
	return ok && regs.r[BS_LR] == 0x10e;
#else
	static const uint8_t number[15] = {1, 2, 5, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};
	for (i = 0; i < 15; i++)
		ok = ok && (i == 1 || regs.r[i] == 0x100 + (bs_word)number[i]);
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

static int wrong(void)
{
	return !task(BS_FREERTOS_CM3, N(cm3), 16) ? 1 : !task(BS_FREERTOS_CM4F, N(cm4f), 17) ? 2 : !task(BS_FREERTOS_CM4F, N(lazy), 51) ? 3 :
	       !task(BS_FREERTOS_CM0, N(cm0), 17) ? 4 : !task(BS_FREERTOS_CM33, N(cm33), 18) ? 5 : !task(BS_FREERTOS_CM33_TZ, N(tz), 19) ? 6 : 0;
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {stack_top, start};
#else
#define X 0x101, 0x105, 0x106, 0x107, 0x108, 0x109, 0x10a, 0x10b, 0x10c, 0x10d, 0x10e, 0x10f, 0x110, 0x111, 0x112, 0x113, 0x114, 0x115, \
	0x116, 0x117, 0x118, 0x119, 0x11a, 0x11b, 0x11c, 0x11d, 0x11e, 0x11f
static const bs_word old[] = {0x1000, X, 0x1880}, nested[] = {0x1000, X, 1, 0x1880}, since[] = {0x1000, 0x1880, X, 1};
#define N(a) a, sizeof a / sizeof a[0]

static int wrong(void)
{
	return !task(BS_FREERTOS_RISCV, N(old), 30) ? 1 : !task(BS_FREERTOS_RISCV, N(nested), 31) ? 2 :
	       !task(BS_FREERTOS_RISCV_11_3, N(since), 31) ? 3 : 0;
}

__asm__(".section .vectors, \"ax\"\n\t.globl _start\n_start:\n\tla sp, stack_top\n\tli ra, 0\n\tcall start\n\t.text");
#endif

__attribute__((used)) void start(void)
{
	int n;

	board_start();
	n = wrong();
	bs_put(0, n ? (char)('0' + n) : 'o');
	bs_put(0, n ? '?' : 'k');
	bs_end();
}
