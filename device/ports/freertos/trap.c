/* The entry of traps of FreeRTOS on RISC-V, for mtvec: calls of the kernel and interrupts go to FreeRTOS, others to ../riscv. */
#if defined(__riscv)
#include "../riscv/fault.h"

__asm__(".option push\n\t.option norelax\n\t.section .text.bs_freertos_entry, \"ax\"\n\t.balign 64\n\t"
	".globl bs_freertos_entry\n\t.type bs_freertos_entry, @function\nbs_freertos_entry:\n\t"
	"csrw mscratch, t0\n\tcsrr t0, mcause\n\tbltz t0, 1f\n\taddi t0, t0, -11\n\tbeqz t0, 1f\n\t"
	"csrr t0, mscratch\n\tj bs_riscv_entry\n1:\tcsrr t0, mscratch\n\tj freertos_risc_v_trap_handler\n\t"
	".size bs_freertos_entry, . - bs_freertos_entry\n\t.option pop\n\t.text");
#endif
