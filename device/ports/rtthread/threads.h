/* RT-Thread: its threads, for bs_unwind (Cortex-M, RISC-V). hooks.c has what reports need. */
#ifndef BACKSIGHT_RTTHREAD_H
#define BACKSIGHT_RTTHREAD_H

#include "../../backsight.h"

/* What a port saves of a thread that does not run, from its sp up. */
enum bs_rtthread_port {
	BS_RTTHREAD_M3 = 0,   /* cortex-m0 to m4 without floating point, m23: r4 to r11 */
	BS_RTTHREAD_FLAG = 1, /* cortex-m4, m7: a flag, whether s16 to s31 are behind r4 to r11 */
	BS_RTTHREAD_M33 = 2,  /* cortex-m33: a secure context, EXC_RETURN, PSPLIM, CONTROL, r4 to r11, s16 to s31 */
	BS_RTTHREAD_RISCV = 3 /* libcpu/risc-v/common: epc, ra, mstatus, gp, tp, t0 to t6 by number */
};

/* bs_rtthread_task lets regs be those of a thread that does not run. sp is that of its control block. False: the context
 * cannot be read, or has no sense. */
int bs_rtthread_task(const struct bs_world *world, bs_word sp, enum bs_rtthread_port port, struct bs_regs *regs);

#endif
