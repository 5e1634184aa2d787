#include "board.h"

#if defined(__riscv) /* virt */
void board_start(void) {}
static void put(char c) { *(volatile uint8_t *)0x10000000 = (uint8_t)c; }
#elif defined(BOARD_MICROBIT) /* nRF51822 */
void board_start(void)
{
	REGISTER(0x40002500) = 4; /* ENABLE */
	REGISTER(0x40002008) = 1; /* STARTTX */
}
static void put(char c)
{
	REGISTER(0x4000211c) = 0; /* TXDRDY */
	REGISTER(0x4000251c) = (uint32_t)c;
	while (!REGISTER(0x4000211c))
		;
}
#else /* mps2: the console of the AN505 is elsewhere */
#if defined(BOARD_AN505)
#define UART 0x50200000
#else
#define UART 0x40004000
#endif
void board_start(void) { REGISTER(UART + 8) = 1; }
static void put(char c)
{
	while (REGISTER(UART + 4) & 1)
		;
	REGISTER(UART) = (uint32_t)c;
}
#endif

void bs_put(void *context, char c)
{
	(void)context;
	put(c);
}

/* bs_end ends the emulator: the board's test device, or semihosting's SYS_EXIT. */
void bs_end(void)
{
#if defined(__riscv)
	for (;;)
		REGISTER(0x00100000) = 0x5555;
#else
	register uint32_t call __asm__("r0") = 0x18, reason __asm__("r1") = 0x20026;
	for (;;)
		__asm__ volatile("bkpt #0xab" : : "r"(call), "r"(reason));
#endif
}
