/* Backtraces of a program without an operating system at any of its instructions: a timer interrupts the
 * program, and the handler walks. -finstrument-functions keeps a shadow stack beside the program's own. Each
 * sample is a line:
 *
 *     PC PC … : RETURN FUNCTION RETURN FUNCTION …
 *
 * with the reader's addresses, then the running functions, each with where it returns to, the last first. */
#ifndef BACKSIGHT_METAL_H
#define BACKSIGHT_METAL_H

#include "../../backsight.h"

enum { SAMPLES = 400 };

/* work is what is interrupted. */
int work(int n);

/* metal_run works until there are SAMPLES lines. */
void metal_run(void);

/* metal_sample walks from what was interrupted, and prints. It returns how many ticks of the timer to wait for the
 * next sample. */
unsigned metal_sample(const struct bs_world *world, struct bs_regs *regs);

/* To be provided by the board: starts the timer. */
void metal_start(void);

#endif
