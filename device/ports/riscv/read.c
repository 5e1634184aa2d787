#include "fault.h"

/* A load that is refused traps to the label behind it, where nobody has set the result to 1. Nothing is returned from: the
 * reader runs on in machine mode, and puts back what the trap has changed. */
int bs_riscv_read(void *context, bs_word address, bs_word *value)
{
	bs_word vector, epc, status, cause, tval, ok;

	(void)context;
	if (bs_ram_high && (address < (bs_word)bs_ram_low || address >= (bs_word)bs_ram_high))
		return 0;
	__asm__ volatile("csrr %1, mepc\n\tcsrr %2, mstatus\n\tcsrr %3, mcause\n\tcsrr %4, mtval\n\tla %0, 1f\n\tcsrrw %0, mtvec, %0\n\t"
			 "li %5, 0\n\t"
#if BS_WORD == 8
			 "ld %6, 0(%7)\n\t"
#else
			 "lw %6, 0(%7)\n\t"
#endif
			 "li %5, 1\n\t.balign 64\n1:\tcsrw mtvec, %0\n\tcsrw mepc, %1\n\tcsrw mstatus, %2\n\tcsrw mcause, %3\n\tcsrw mtval, %4"
			 : "=&r"(vector), "=&r"(epc), "=&r"(status), "=&r"(cause), "=&r"(tval), "=&r"(ok), "=&r"(*value)
			 : "r"(address)
			 : "memory");
	return ok != 0;
}
