/* Firmware of a Cortex-M3: a command interpreter that divides by zero. Flashed as
 * a raw image, without any headers. */
#include <stdint.h>

#define noinline __attribute__((noinline, noclone))

volatile uint32_t lost, ticks;
extern uint32_t stack_top[];

static noinline _Noreturn void halt(uint32_t cause)
{
	lost = cause;
	for (;;)
		__asm__ volatile("nop");
}

static noinline _Noreturn void report(uint32_t cause)
{
	lost++;
	halt(cause | lost << 16);
}

/* HardFault, since UsageFault is not enabled. */
static void fault(void)
{
	uint32_t hfsr = *(volatile uint32_t *)0xE000ED2C;
	report(hfsr >> 16);
}

/* A leaf: the division traps (CCR.DIV_0_TRP). */
static noinline int ratio(int a, int b)
{
	return a / b;
}

static noinline int average(const int *v, int n)
{
	int window[8], sum = 0;
	for (int i = 0; i < 8; i++)
		window[i] = v[i & 3] * (i + 1);
	__asm__ volatile("" : : "r"(window) : "memory");
	for (int i = 0; i < 8; i++)
		sum += window[i];
	return ratio(sum, n) + window[n & 7];
}

struct command {
	char name;
	int (*run)(const int *v, int n);
};

static const struct command commands[] = {{'r', 0}, {'a', average}};
static const int samples[] = {4, 8, 15, 16};

static noinline int execute(char name, int n)
{
	for (unsigned i = 0; i < 2; i++)
		if (commands[i].name == name)
			return commands[i].run(samples, n) + 1;
	return 0;
}

static noinline int interpret(const char *line, int depth)
{
	if (*line == '(')
		return interpret(line + 1, depth + 1) + depth;
	return execute(*line, line[1] - '0');
}

static void reset(void)
{
	*(volatile uint32_t *)0xE000ED14 |= 1 << 4; /* CCR.DIV_0_TRP */
	for (;;) {
		ticks += interpret("a2", 0);
		ticks += interpret("((a0", 0);
	}
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[] = {
	(uintptr_t)stack_top, (uintptr_t)reset, (uintptr_t)fault, (uintptr_t)fault,
};
