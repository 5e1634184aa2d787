/* The tasks of FreeRTOS on Cortex-M and RISC-V. */
#ifndef BACKSIGHT_TASKS_H
#define BACKSIGHT_TASKS_H

#include "../../backsight.h"

/* What a port saves of a task that does not run, from pxTopOfStack up. What the processor pushes is behind, and
 * s16 to s31 before that where EXC_RETURN says so. */
enum bs_freertos_port {
	BS_FREERTOS_CM3 = 0,      /* ARM_CM3, and ARM_CM0 before 11.1: r4 to r11 */
	BS_FREERTOS_CM4F = 1,     /* ARM_CM4F, ARM_CM7: r4 to r11, EXC_RETURN */
	BS_FREERTOS_CM0 = 2,      /* ARM_CM0 since 11.1: EXC_RETURN, r4 to r11 */
	BS_FREERTOS_CM33 = 3,     /* ARM_CM23_NTZ, ARM_CM33_NTZ, and without secure contexts: PSPLIM, EXC_RETURN, r4 to r11 */
	BS_FREERTOS_CM33_TZ = 4,  /* with them: the context, PSPLIM, EXC_RETURN, r4 to r11 */
	BS_FREERTOS_RISCV = 5,    /* RISC-V before 11.3: mepc, x1, x5 to x31, … */
	BS_FREERTOS_RISCV_11_3 = 6 /* since: mepc, mstatus, 33 floating-point registers where mstatus.FS says dirty, x1, x5 to x31, … */
};

/* The port of the processor that is compiled for, without secure contexts. The version is FreeRTOS' own: include task.h first.
 * On RISC-V the context itself decides, where it can. */
#if defined(__riscv)
#if defined(tskKERNEL_VERSION_MAJOR) && tskKERNEL_VERSION_MAJOR * 100 + tskKERNEL_VERSION_MINOR < 1103
#define BS_FREERTOS_PORT BS_FREERTOS_RISCV
#else
#define BS_FREERTOS_PORT BS_FREERTOS_RISCV_11_3
#endif
#elif defined(__ARM_ARCH_8M_BASE__) || defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
#define BS_FREERTOS_PORT BS_FREERTOS_CM33
#elif defined(__thumb2__) && defined(__ARM_FP)
#define BS_FREERTOS_PORT BS_FREERTOS_CM4F
#elif defined(__thumb2__) || (defined(tskKERNEL_VERSION_MAJOR) && tskKERNEL_VERSION_MAJOR * 100 + tskKERNEL_VERSION_MINOR < 1101)
#define BS_FREERTOS_PORT BS_FREERTOS_CM3
#else
#define BS_FREERTOS_PORT BS_FREERTOS_CM0
#endif

/* bs_freertos_task lets regs be those of a task that does not run. top is pxTopOfStack, the first
 * word of its control block. False: the context cannot be read, or has no sense. */
int bs_freertos_task(const struct bs_world *world, bs_word top, enum bs_freertos_port port, struct bs_regs *regs);

#endif
