/* What a port asks of the firmware. */
#ifndef BACKSIGHT_HOOKS_H
#define BACKSIGHT_HOOKS_H

#include "../backsight.h"

/* To be provided: writes a character to the console, without interrupts. */
void bs_put(void *context, char c);

/* To be provided: what to do behind the report (reset, or halt). */
void bs_end(void);

/* May be provided, and is asked behind the frames: the name of the thread that runs, the firmware's version, the
 * milliseconds since the start. */
const char *bs_thread(void) __attribute__((weak));
const char *bs_firmware(void) __attribute__((weak));
uint32_t bs_uptime(void) __attribute__((weak));

/* May be provided, as the ports of kernels do: lets regs be those of the task that is the i-th of those that do not run, and
 * name the address of its name. Where its context cannot be read, regs->known is 0. False: there are no more. */
int bs_task(const struct bs_world *world, uint32_t i, struct bs_regs *regs, bs_word *name) __attribute__((weak));

/* May be provided, as the ports of kernels do whose exceptions have a stack of their own, and is asked where the walk ends: lets
 * regs be those of what the exception came to. False: no exception's entry is there. */
int bs_interrupted(const struct bs_world *world, struct bs_regs *regs) __attribute__((weak));

/* May be defined by the linker script: where RAM begins and ends. No word outside is read. */
extern uint8_t bs_ram_low[] __attribute__((weak));
extern uint8_t bs_ram_high[] __attribute__((weak));

#endif
