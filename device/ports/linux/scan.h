/* Callers of code whose rule nobody knows, by a scan of the stack. What a scan finds is a guess. */
#ifndef BACKSIGHT_SCAN_H
#define BACKSIGHT_SCAN_H

#include "../../backsight.h"

/* bs_linux_guessing_world is bs_linux_world with bs_linux_guess. */
extern const struct bs_world bs_linux_guessing_world;

/* bs_linux_guess goes up the stack to the first word that returns into a module, behind a call, to a frame whose own caller
 * is there: bs_world.guess. It looks at no more than 512 words. */
int bs_linux_guess(void *context, const struct bs_world *world, struct bs_regs *regs);

/* bs_linux_behind_call tells whether a call stands before an address, which lies between low and high,
 * readable code. pc is as return addresses are stored, mode bit included. */
int bs_linux_behind_call(uintptr_t pc, uintptr_t low, uintptr_t high);

#endif
