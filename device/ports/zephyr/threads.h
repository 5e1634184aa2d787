/* Zephyr: its threads (Cortex-M, RISC-V). fatal.c has what a module needs beside. */
#ifndef BACKSIGHT_ZEPHYR_H
#define BACKSIGHT_ZEPHYR_H

#include "../../backsight.h"

/* bs_zephyr_task lets regs be those of a thread that does not run. saved is the address of its callee_saved: on Cortex-M r4 to r11 and
 * PSP, on RISC-V sp, ra and s0 to s11 (Zephyr 3.2 and later). False: the context cannot be read, or has no sense. */
int bs_zephyr_task(const struct bs_world *world, bs_word saved, struct bs_regs *regs);

#endif
