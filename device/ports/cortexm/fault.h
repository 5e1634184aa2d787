/* A fault handler that prints the backtrace of what has failed. */
#ifndef BACKSIGHT_FAULT_H
#define BACKSIGHT_FAULT_H

#include "exception.h"

/* To be provided: writes a character to the console, without interrupts. */
void bs_put(void *context, char c);

/* To be provided: what to do behind the report (reset, or halt). */
void bs_end(void);

/* HardFault_Handler is the entry of the vector table; give it to others that should report,
 * too: MemManage, BusFault, UsageFault, NMI, a watchdog's interrupt. */
void HardFault_Handler(void);

/* bs_fault reports: called by the handler, with EXC_RETURN, the main stack pointer at its entry,
 * and where r4 to r11 are. */
void bs_fault(uint32_t exc_return, uint32_t msp, const uint32_t *pushed);

#endif
