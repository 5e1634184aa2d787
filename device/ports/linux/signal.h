/* Signal frames of Linux, for every machine that backsight.h knows. */
#ifndef BACKSIGHT_SIGNAL_H
#define BACKSIGHT_SIGNAL_H

#include "../../backsight.h"

/* bs_linux_trampoline finds what a signal has interrupted, where a frame is that of the code that
 * handlers return to: bs_world.trampoline. That code is read as world says. */
int bs_linux_trampoline(void *context, const struct bs_world *world, struct bs_regs *regs);

#endif
