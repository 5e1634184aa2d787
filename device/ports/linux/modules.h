/* The program and its shared libraries, each with the table that `backsight table --add-section`
 * gave it. */
#ifndef BACKSIGHT_MODULES_H
#define BACKSIGHT_MODULES_H

#include "../../backsight.h"

/* bs_linux_refresh notes which modules are loaded: to be called at the start, and after dlopen.
 * Not in a signal handler. It returns how many of them have tables. */
int bs_linux_refresh(void);

/* The code of a module, from low up to high, how far it lies above where it was linked to, and its table, 0
 * for none. */
struct bs_linux_module {
	bs_word low, high, bias;
	const uint8_t *table;
};

/* bs_linux_module_at returns the module whose code has an address, 0 for none. */
const struct bs_linux_module *bs_linux_module_at(bs_word pc);

/* bs_linux_table_at is bs_world.table, and bs_linux_caught its trampoline, for the modules of this process. */
const uint8_t *bs_linux_table_at(void *context, bs_word pc, bs_word *bias);
int bs_linux_caught(void *context, const struct bs_world *world, struct bs_regs *regs);

/* bs_linux_world is the world of this process: its modules, and signal frames. */
extern const struct bs_world bs_linux_world;

/* bs_linux_signal lets regs be what a signal has interrupted: ucontext is the third argument of a
 * handler that was set with SA_SIGINFO. */
void bs_linux_signal(const void *ucontext, struct bs_regs *regs);

/* bs_linux_print writes the line that `backsight bt` reads in a log, for the frames of a backtrace
 * up to the first outside the program, which is the module of the first frame. */
void bs_linux_print(int fd, const bs_word *pcs, int n);

#endif
