/* Which words a walk may read, where the linker script does not say where RAM is. On Armv6-M what lies between the
 * beginning of SRAM and the first stack pointer. Elsewhere words are tried: bus faults of a reader with the priority
 * of FAULTMASK are ignored while CCR.BFHFNMIGN is set, and are noted in CFSR (DDI 0403, B3.2.8; QEMU locks up). Memory is what
 * the address map has for code and SRAM, and the region of the process stack; reading devices has effects. */
#include "exception.h"
#include "../hooks.h"

#define SCB(offset) (*(volatile uint32_t *)(0xe000ed00u + (offset)))

enum { VTOR = 0x08, CCR = 0x14, CFSR = 0x28 };
enum { BFHFNMIGN = 0x100, BUS_FAULTS = 0xff00 };

#if defined(__thumb2__)
static int try(bs_word address, bs_word *value)
{
	uint32_t ccr = SCB(CCR), mask, failed, psp;

	__asm__ volatile("mrs %0, psp" : "=r"(psp));
	if (address >> 29 > 1 && address >> 29 != psp >> 29)
		return 0;
	__asm__ volatile("mrs %0, faultmask\n\tcpsid f" : "=r"(mask) : : "memory");
	SCB(CFSR) = BUS_FAULTS;
	SCB(CCR) = ccr | BFHFNMIGN;
	__asm__ volatile("dsb\n\tisb" : : : "memory");
	*value = *(const volatile bs_word *)address;
	__asm__ volatile("dsb" : : : "memory");
	failed = SCB(CFSR) & BUS_FAULTS;
	SCB(CFSR) = BUS_FAULTS;
	SCB(CCR) = ccr;
	__asm__ volatile("msr faultmask, %0" : : "r"(mask) : "memory");
	return !failed;
}
#else
static int try(bs_word address, bs_word *value)
{
	if (address < 0x20000000u || address >= **(const bs_word *const volatile *)&SCB(VTOR))
		return 0;
	*value = *(const bs_word *)address;
	return 1;
}
#endif

/* constant tells whether a word lies between the vectors and the table. */
static int constant(bs_word address)
{
	enum { FLASH = 1 << 24 };
	bs_word low = SCB(VTOR), high = (bs_word)(uintptr_t)backsight_table;

	return high > low && high - low < FLASH && address >= low && address < high;
}

int bs_cortexm_read(void *context, bs_word address, bs_word *value)
{
	(void)context;
	if (!bs_ram_high)
		return try(address, value);
	if ((address < (bs_word)bs_ram_low || address >= (bs_word)bs_ram_high) && !constant(address))
		return 0;
	*value = *(const bs_word *)address;
	return 1;
}
