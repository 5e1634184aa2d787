/* A program that fails, and has no more than dump.c. */
#include "../dump.h"

#if defined(HOSTED) /* calls bs_dump as an assertion does */
#include <stdlib.h>
#include <unistd.h>

void bs_put(void *context, char c)
{
	(void)context;
	if (write(1, &c, 1) < 0)
		_exit(2);
}
#else
#include "board.h"

void fault(void);
void start(void);

static int touch(volatile int *at);

/* A task that waits to go on in touch, as FreeRTOS has saved it. */
static void dump_task(void)
{
	static uintptr_t task[40];
#if defined(__riscv)
	task[0] = (uintptr_t)touch;
	task[30] = 0x1880;
#else
	task[14] = (uintptr_t)touch & ~(uintptr_t)1;
	task[15] = 0x01000000;
#endif
	bs_dump_task("sensor", task);
}

void fault(void)
{
#if defined(STORED)
	static uint32_t kept[256];
	if (bs_store(kept, sizeof kept) > 0)
		bs_print_record(kept);
#else
	bs_dump();
#endif
	dump_task();
	bs_end();
}
#endif

__attribute__((noinline)) static int touch(volatile int *at)
{
#if defined(HOSTED)
	bs_dump();
#endif
	return *at + 1;
}

__attribute__((noinline)) static int fail(volatile int *at)
{
	volatile int room[4];

	room[1] = touch(at);
	return room[1] + touch(at);
}

__attribute__((noinline)) static int outer(volatile int *at)
{
	volatile int room[8];

	room[1] = fail(at);
	return room[1] + 1;
}

#if defined(HOSTED)
int main(int argc, char **argv)
{
	volatile int room[2048]; /* behind which more may be read */

	room[argc] = argv != 0;
	exit(outer(&room[argc]) == 0);
}
#else
extern uint8_t stack_top[];

#if defined(__riscv)
void entry(void);
__asm__(".option arch, +zicsr\n\t.balign 64\n\t.globl entry\nentry:\n\taddi sp, sp, -256\n\t"
	".irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
#if __riscv_xlen == 64
	"sd x\\n, 8 * \\n(sp)\n\t.endr\n\taddi t0, sp, 256\n\tsd t0, 16(sp)\n\tcsrr t0, mepc\n\tsd t0, 0(sp)\n\t"
#else
	"sw x\\n, 4 * \\n(sp)\n\t.endr\n\taddi t0, sp, 256\n\tsw t0, 8(sp)\n\tcsrr t0, mepc\n\tsw t0, 0(sp)\n\t"
#endif
	"call fault\n1:\tj 1b");
__asm__(".section .vectors, \"ax\"\n\t.globl _start\n_start:\n\tla sp, stack_top\n\tli ra, 0\n\tcall start\n\t.text");
#endif

__attribute__((used)) void start(void)
{
	board_start();
#if defined(__ARM_FP)
	REGISTER(0xe000ed88) |= 0xf << 20; /* CPACR */
#endif
#if defined(__riscv)
	__asm__ volatile("csrw mtvec, %0" : : "r"(entry));
	outer((volatile int *)16);
#else
	outer((volatile int *)0xa0000000);
#endif
	bs_end();
}

#if !defined(__riscv)
__attribute__((section(".vectors"), used)) static const void *const vectors[] = {stack_top, start, fault, fault};
#endif
#endif
