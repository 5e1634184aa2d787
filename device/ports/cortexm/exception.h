/* Exceptions of ARM microcontrollers (Armv6-M, Armv7-M, Armv8-M Mainline without security
 * states). */
#ifndef BACKSIGHT_CORTEXM_H
#define BACKSIGHT_CORTEXM_H

#include "../../backsight.h"

/* bs_cortexm_exception finds what an exception has interrupted, where a handler returns to an
 * EXC_RETURN value: bs_world.exception. context is the address of a bs_word that holds the process
 * stack pointer, or 0: it is read from the processor. */
int bs_cortexm_exception(void *context, const struct bs_world *world, struct bs_regs *regs);

/* bs_cortexm_task lets regs be those of a task that does not run, of which a kernel has saved r4 to r11 at an address, and the
 * processor the others at frame. exc_return tells the frame's form. False: it cannot be read, or has no sense. */
int bs_cortexm_task(const struct bs_world *world, bs_word saved, bs_word frame, bs_word exc_return, struct bs_regs *regs);

/* bs_cortexm_guess finds a caller where the place of the fault is lost, as on a stack that is full: the first word of the stack, from
 * regs->r[BS_SP] on, that returns behind a call, and whose caller's caller is there. Only code that the table has is looked at. */
int bs_cortexm_guess(const struct bs_world *world, struct bs_regs *regs);

/* bs_cortexm_read reads a word of memory that is there: bs_world.read. Where RAM is, bs_ram_low and bs_ram_high say
 * (../hooks.h); without them words are tried. From the vectors to the table all is code and constants. */
int bs_cortexm_read(void *context, bs_word address, bs_word *value);

#endif
