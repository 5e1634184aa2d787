/* QEMU's board virt (RV32, RV64): the timer of the CLINT interrupts. */
#include "../../ports/riscv/trap.h"
#include "../board.h"
#include "metal.h"

__asm__(".option arch, +zicsr"); /* of which GCC 12 has no library */

#define MTIME REGISTER(0x0200bff8)
#define MTIMECMP ((volatile uint32_t *)0x02004000)

#if BS_WORD == 8
#define ACCESS(op) op "d x\\n, 8 * \\n(sp)"
#define SP_SLOT "addi a0, sp, 256\n\tsd a0, 16(sp)"
#define SIZE "256"
#else
#define ACCESS(op) op "w x\\n, 4 * \\n(sp)"
#define SP_SLOT "addi a0, sp, 128\n\tsw a0, 8(sp)"
#define SIZE "128"
#endif

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

__asm__(".balign 4\n\t.globl trap\ntrap:\n\taddi sp, sp, -" SIZE "\n\t"
	".irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
	ACCESS("s") "\n\t.endr\n\t" SP_SLOT "\n\tmv a0, sp\n\tcsrr a1, mepc\n\tcall tick\n\t"
	".irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
	ACCESS("l") "\n\t.endr\n\taddi sp, sp, " SIZE "\n\tmret");

__asm__(".section .vectors, \"ax\"\n\t.globl _start\n_start:\n\tla sp, stack_top\n\tli ra, 0\n\tcall metal_run\n\t.text");
