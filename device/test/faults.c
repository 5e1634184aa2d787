/* Firmware that fails as the emulator writes into fails: what the port reports must be true, and must come to an end. */
#include "board.h"

enum { PLAIN, SMASHED, WILD_SP, ODD_SP, OVERFLOW, CYCLE, IN_HOOK, CALLED, SERVICE, ELSEWHERE };

#if defined(__riscv)
#include "../ports/riscv/fault.h"
#define SET_SP(v) __asm__ volatile("mv sp, %0" : : "r"(v))
#define GET_SP(v) __asm__ volatile("mv %0, sp" : "=r"(v))
static volatile int *volatile bad = (volatile int *)0x18; /* nothing is there */
#else
#include "../ports/cortexm/fault.h"
#define SET_SP(v) __asm__ volatile("mov sp, %0" : : "r"(v))
#define GET_SP(v) __asm__ volatile("mov %0, sp" : "=r"(v))
static volatile int *volatile bad = (volatile int *)0xa0000000;
#endif

extern volatile uint32_t fails; /* in memory that nothing is loaded into */

void start(void);
extern uint8_t stack_top[];

const char *bs_thread(void) { return fails == IN_HOOK && *bad == 0 ? "none" : "sensor"; }
const char *bs_firmware(void) { return "1.4.2"; }
uint32_t bs_uptime(void) { return 4711; }

static int outer(int n);

/* Of two tasks that do not run one can be read. */
int bs_task(const struct bs_world *world, uint32_t i, struct bs_regs *regs, bs_word *name)
{
	static volatile char idle[4], logger[4];

	(void)world;
	idle[0] = 'i';
	logger[0] = 'l';
	*name = (bs_word)(uintptr_t)(i == 0 ? idle : logger);
	regs->known = (uint16_t)(i == 0 ? 0 : 1u << BS_SP);
	regs->r[BS_SP] = 0;
	regs->pc = (bs_word)(uintptr_t)outer & ~(bs_word)1;
	regs->exact = 1;
	regs->guessed = 0;
	return i < 2;
}

__attribute__((noinline, used)) static int touch(volatile int *at) { return *at + 1; }

#if defined(__riscv)
#if __riscv_xlen == 64
#define STORE "sd"
#else
#define STORE "sw"
#endif

__attribute__((used)) static bs_word switched[2], other[64] __attribute__((aligned(16)));

/* Goes on on another stack, as kernels' entries of traps do, and fails there. */
__attribute__((naked, noinline)) static void elsewhere(void)
{
	__asm__ volatile("la t0, switched\n\t" STORE " sp, 0(t0)\n\t" STORE " ra, %0(t0)\n\tla sp, other + 64 * %0\n\tli a0, 0x18\n\tcall touch"
			 : : "i"(BS_WORD));
}

int bs_interrupted(const struct bs_world *world, struct bs_regs *regs)
{
	(void)world;
	if (regs->r[BS_SP] != (bs_word)(uintptr_t)(other + 64))
		return 0;
	regs->r[BS_SP] = switched[0];
	regs->pc = switched[1];
	regs->known = 1u << BS_SP;
	regs->exact = 0;
	regs->guessed = 1;
	return 1;
}
#endif

__attribute__((noinline)) static int overflow(int n)
{
	volatile int room[64];

	room[n & 63] = n;
	if (fails == PLAIN)
		return n;
	return overflow(n + 1) + room[n & 63];
}

/* Writes what an overrun buffer would: over the saved registers and the return address. */
__attribute__((noinline)) static void overrun(volatile bs_word *at, bs_word v, int n)
{
	for (; n > 0; n--)
		*at++ = v;
}

/* Prints who has called, and ends. */
__attribute__((noinline)) static void print_callers(const struct bs_world *world)
{
	void *pcs[8];
	int n = bs_frames(world, 1, pcs, 8);

	bs_print((const bs_word *)pcs, n, 0, bs_put, 0);
	bs_end();
}

__attribute__((noinline)) static void called(void)
{
	print_callers(0);
	__asm__ volatile("");
}

#if !defined(__riscv)
__attribute__((used)) static void service(void)
{
	static const struct bs_world world = {.exception = bs_cortexm_exception};

	print_callers(&world);
	__asm__ volatile("");
}

/* As kernels' handlers are; of what is pushed call frame information says nothing. */
__attribute__((naked)) static void service_entry(void)
{
	__asm__ volatile("push {r3, lr}\n\tbl service\n\tpop {r3, pc}");
}
#endif

__attribute__((noinline)) static int fail(int n)
{
	volatile bs_word room[4];
	bs_word sp;

	room[n & 3] = 0;
	if (fails == CALLED)
		called();
#if !defined(__riscv)
	if (fails == SERVICE)
		__asm__ volatile("svc #0");
#endif
#if defined(__riscv)
	if (fails == ELSEWHERE)
		elsewhere();
#endif
	if (fails == SMASHED)
		overrun(room, 0x61626364, 16);
	if (fails == CYCLE) {
		GET_SP(sp);
		overrun(room, sp, 16);
	}
	if (fails == OVERFLOW)
		n += overflow(n);
	if (fails == WILD_SP)
		SET_SP(0x70000000);
	if (fails == ODD_SP) {
		GET_SP(sp);
		SET_SP(sp + 1);
	}
	return touch(bad) + n + (int)room[n & 3];
}

__attribute__((noinline)) static int outer(int n)
{
	volatile int room[8];

	room[n & 7] = fail(n);
	return room[n & 7] + n;
}

/* Guards 4 KB of the stack, some way below its top: by the unit that protects memory, or by the stack's limit. */
static void guard(void)
{
#if defined(__riscv)
	__asm__ volatile("csrw pmpaddr0, %0\n\tcsrw pmpcfg0, %1" : : "r"((((bs_word)stack_top - 0x8000) & ~(bs_word)0xfff) >> 2 | 0x1ff), "r"(0x98));
#elif defined(__ARM_ARCH_8M_MAIN__)
	__asm__ volatile("msr msplim, %0" : : "r"((uint32_t)stack_top - 0x2000));
#elif defined(__thumb2__)
	REGISTER(0xe000ed9c) = ((uint32_t)stack_top - 0x8000) | 0x10; /* MPU_RBAR, MPU_RASR, MPU_CTRL */
	REGISTER(0xe000eda0) = 11 << 1 | 1;
	REGISTER(0xe000ed94) = 5;
#endif
}

__attribute__((used)) void start(void)
{
	board_start();
#if defined(__riscv)
	__asm__ volatile("csrw mtvec, %0" : : "r"(bs_riscv_entry));
#elif defined(__thumb2__)
	REGISTER(0xe000ed24) = 7 << 16; /* SHCSR: faults with handlers of their own */
#endif
	if (fails == OVERFLOW)
		guard();
	outer(1);
	bs_end();
}

#if defined(__riscv)
__asm__(".section .vectors, \"ax\"\n\t.globl _start\n_start:\n\tla sp, stack_top\n\tli ra, 0\n\tcall start\n\t.text");
#else
__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
	stack_top, start, HardFault_Handler, HardFault_Handler, HardFault_Handler, HardFault_Handler, HardFault_Handler, 0, 0, 0, 0, service_entry};
#endif
