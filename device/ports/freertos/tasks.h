/* The tasks of FreeRTOS on Cortex-M (its ports ARM_CM0, ARM_CM3, ARM_CM4F, ARM_CM7). */
#ifndef BACKSIGHT_TASKS_H
#define BACKSIGHT_TASKS_H

#include "../cortexm/exception.h"

/* bs_freertos_task lets regs be those of a task that does not run. top is pxTopOfStack, the first
 * word of its control block; fpu: the port saves EXC_RETURN and s16 to s31 (ARM_CM4F, ARM_CM7). */
int bs_freertos_task(const struct bs_world *world, bs_word top, int fpu, struct bs_regs *regs);

#endif
