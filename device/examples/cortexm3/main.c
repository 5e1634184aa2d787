/* A firmware that fails, on the board mps2-an385: a Cortex-M3 with a UART at 0x40004000. With DUMP it has no more than
 * dump.c, without it the port's handler. */
#include "../../dump.h"
#include "../../ports/cortexm/fault.h"

#define UART ((volatile uint32_t *)0x40004000)

extern uint32_t stack_top[];
int main(void);

void bs_put(void *context, char c)
{
	(void)context;
	UART[0] = (uint32_t)c;
}

/* bs_end lets the emulator stop: semihosting's SYS_EXIT. */
void bs_end(void)
{
	register uint32_t call __asm__("r0") = 0x18, reason __asm__("r1") = 0x20026;
	for (;;)
		__asm__ volatile("bkpt #0xab" : : "r"(call), "r"(reason));
}

#if defined(DUMP)
void HardFault_Handler(void)
{
	bs_dump();
	bs_end();
}
#endif

static void Reset_Handler(void)
{
	UART[2] = 1; /* transmit */
	main();
	bs_end();
}

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {stack_top, Reset_Handler, HardFault_Handler, HardFault_Handler};

__attribute__((noinline)) static uint32_t read_sensor(volatile uint32_t *port) { return *port + 1; }

__attribute__((noinline)) static uint32_t average(uint32_t n)
{
	volatile uint32_t samples[8];
	samples[n & 7] = read_sensor((volatile uint32_t *)0xa0000000); /* nothing is there: a bus fault */
	return samples[0] / n;
}

__attribute__((noinline)) static uint32_t measure(void)
{
	uint32_t sum = 0, i;
	for (i = 1; i < 4; i++)
		sum += average(i);
	return sum;
}

int main(void) { return (int)measure(); }
