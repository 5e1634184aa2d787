/* ThreadX: its threads (Cortex-M). The handler of faults is that of ../cortexm; list.c names threads in its report. */
#ifndef BACKSIGHT_THREADX_H
#define BACKSIGHT_THREADX_H

#include "../../backsight.h"

/* bs_threadx_task lets regs be those of a thread that does not run, of the processor that is compiled for. top is tx_thread_stack_ptr:
 * EXC_RETURN (ports/cortex_m0 to m7), s16 to s31 if it says so, r4 to r11 (in cortex_m0 r8 to r11 before r4 to r7). False: the
 * context cannot be read, or has no sense. */
int bs_threadx_task(const struct bs_world *world, bs_word top, struct bs_regs *regs);

#endif
