/* QEMU's board virt (RV32): the timer of the CLINT interrupts. */
#include "../../ports/riscv/trap.h"
#include "metal.h"

__asm__(".option arch, +zicsr"); /* of which GCC 12 has no library */

#define MTIME (*(volatile uint32_t *)0x0200bff8)
#define MTIMECMP ((volatile uint32_t *)0x02004000)
#define UART ((volatile uint8_t *)0x10000000)
#define TEST (*(volatile uint32_t *)0x00100000)

void metal_put(char c)
{
	while (!(UART[5] & 0x20))
		;
	UART[0] = (uint8_t)c;
}

void metal_end(void)
{
	for (;;)
		TEST = 0x5555;
}

static void wait(uint32_t ticks)
{
	MTIMECMP[1] = 0;
	MTIMECMP[0] = MTIME + ticks;
}

void trap(void);

void metal_start(void)
{
	wait(1000);
	__asm__ volatile("csrw mtvec, %0\n\tcsrs mie, %1\n\tcsrsi mstatus, 8" : : "r"(trap), "r"(0x80));
}

/* Called with x0 to x31 as the trap's entry saved them, and mepc. */
__attribute__((used)) static void tick(const bs_word *x, bs_word pc)
{
	static const struct bs_world world;
	static struct bs_regs regs;

	MTIMECMP[1] = ~0u;
	bs_riscv_trap(x, pc, &regs);
	wait(metal_sample(&world, &regs) / 4);
}

__asm__(".balign 4\n\t.globl trap\ntrap:\n\taddi sp, sp, -128\n\t"
	".irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
	"sw x\\n, 4 * \\n(sp)\n\t.endr\n\taddi a0, sp, 128\n\tsw a0, 8(sp)\n\tmv a0, sp\n\tcsrr a1, mepc\n\tcall tick\n\t"
	".irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
	"lw x\\n, 4 * \\n(sp)\n\t.endr\n\taddi sp, sp, 128\n\tmret");

__asm__(".section .vectors, \"ax\"\n\t.globl _start\n_start:\n\tla sp, stack_top\n\tli ra, 0\n\tcall metal_run\n\t.text");
