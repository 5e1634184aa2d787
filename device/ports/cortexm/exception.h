/* Exceptions of ARM microcontrollers (Armv6-M, Armv7-M, Armv8-M Mainline without security
 * states). */
#ifndef BACKSIGHT_CORTEXM_H
#define BACKSIGHT_CORTEXM_H

#include "../../backsight.h"

/* bs_cortexm_exception finds what an exception has interrupted, where a handler returns to an
 * EXC_RETURN value: bs_world.exception. context is the address of a bs_word that holds the process
 * stack pointer, or 0: it is read from the processor. */
int bs_cortexm_exception(void *context, const struct bs_world *world, struct bs_regs *regs);

#endif
