/* The entry of traps. The stack may be what has failed: nothing is pushed before there is another one. */
#include "fault.h"
#include "../report.h"

#define STACK_SIZE "768"

#if BS_WORD == 8
#define STORE "sd x\\n, 8 * \\n(sp)"
#define SP_SLOT "sd t0, 16(sp)"
#define REGISTERS "256"
#else
#define STORE "sw x\\n, 4 * \\n(sp)"
#define SP_SLOT "sw t0, 8(sp)"
#define REGISTERS "128"
#endif

__asm__(".local bs_trap_saved\n\t.comm bs_trap_saved, " REGISTERS ", 16\n\t"
	".local bs_trap_stack\n\t.comm bs_trap_stack, " STACK_SIZE ", 16\n\t"
	".option push\n\t.option norelax\n\t.section .text.bs_riscv_entry, \"ax\"\n\t.balign 64\n\t"
	".globl bs_riscv_entry\n\t.type bs_riscv_entry, @function\nbs_riscv_entry:\n\t"
	"csrw mscratch, sp\n\tla sp, bs_trap_saved\n\t"
	".irp n, 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31\n\t"
	STORE "\n\t.endr\n\tcsrr t0, mscratch\n\t" SP_SLOT "\n\tmv a0, sp\n\tcsrr a1, mepc\n\t"
	"la sp, bs_trap_stack + " STACK_SIZE "\n\tcall bs_riscv_report\n1:\tj 1b\n\t.size bs_riscv_entry, . - bs_riscv_entry\n\t"
	".option pop\n\t.text");

static void print_cause(void)
{
	bs_word status, tval, cause;

	__asm__ volatile("csrr %0, mcause\n\tcsrr %1, mtval\n\tcsrr %2, mstatus" : "=r"(cause), "=r"(tval), "=r"(status));
	report_value("mcause:", cause);
	report_value("mtval:", tval);
	report_value("mstatus:", status);
	bs_put(0, '\n');
}

void bs_riscv_report(const bs_word *x, bs_word pc)
{
	static const struct bs_world world = {.read = bs_riscv_read};
	static volatile uint8_t times;
	static struct bs_regs regs;
	enum bs_stop why;
	uint32_t i;

	if (times++ == 0) {
		report_text("\nbacksight: report 1\n");
		print_cause();
		for (i = 1; i < 32; i++) {
			bs_put(0, 'x');
			report_number(i);
			report_value(":", x[i]);
		}
		report_value("mepc:", pc);
		bs_put(0, '\n');
		bs_riscv_trap(x, pc, &regs);
		why = report_frames(&world, &regs);
		report_end(&world, &regs, why);
	} else {
		report_text("\nbacksight: a fault in the report\n");
	}
	for (;;)
		bs_end();
}
