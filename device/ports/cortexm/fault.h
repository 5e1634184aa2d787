/* A fault handler that prints what has failed, with its backtrace, as ../report.h says. */
#ifndef BACKSIGHT_FAULT_H
#define BACKSIGHT_FAULT_H

#include "exception.h"
#include "../hooks.h"

/* bs_fault_entry is for the vector table; give it to all that should report: HardFault, MemManage, BusFault, UsageFault, NMI, a
 * watchdog's interrupt. It has a stack of its own, and ends in bs_end. HardFault_Handler is another name of it; BS_NO_HARDFAULT
 * takes that away for kernels that have one. */
void bs_fault_entry(void);
void HardFault_Handler(void);

/* What a fault leaves: the stack pointers, of which the one that EXC_RETURN names has what the processor pushed, and r4 to r11. */
struct bs_fault {
	uint32_t msp, exc_return, psp, r4[8];
};

/* bs_fault is for an entry of a kernel's own: reports, and does not return. */
void bs_fault(const struct bs_fault *s) __attribute__((noreturn, used));

#endif
