/* A fault handler that prints what has failed, with its backtrace, as ../report.h says. */
#ifndef BACKSIGHT_FAULT_H
#define BACKSIGHT_FAULT_H

#include "exception.h"
#include "../hooks.h"

/* HardFault_Handler is the entry of the vector table; give it to others that should report,
 * too: MemManage, BusFault, UsageFault, NMI, a watchdog's interrupt. The handler has a stack of its own, and
 * ends in bs_end. */
void HardFault_Handler(void);

#endif
