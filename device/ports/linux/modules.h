/* The program and its shared libraries: where their code is, and what tells how to unwind it. */
#ifndef BACKSIGHT_MODULES_H
#define BACKSIGHT_MODULES_H

#include "../../backsight.h"

/* bs_linux_refresh notes which modules are loaded: to be called at the start, and after dlopen.
 * Not in a signal handler. It returns how many of them have tables. Where nothing has been loaded since, it is
 * cheap; walks by other threads go on meanwhile. */
int bs_linux_refresh(void);

/* A module: its image and its code, from low up to high; how far it lies above where it was linked to; its table, 0 for none,
 * what its linker made, .eh_frame_hdr or .ARM.exidx, and its dynamic section; its path, or the first bytes of it. */
struct bs_linux_module {
	bs_word low, high, bias;
	bs_word image_low, image_high;
	const uint8_t *table, *frames, *dynamic;
	bs_word frames_size, dynamic_size;
	uint32_t table_sum;
	uint8_t build[20], build_size;
	char path[127];
};

/* bs_linux_module_at returns the module whose code has an address, 0 for none. What it returns holds until modules have
 * been loaded or unloaded a few times. */
const struct bs_linux_module *bs_linux_module_at(bs_word pc);

/* bs_linux_version is another number after each change of the modules. */
unsigned bs_linux_version(void);

/* bs_linux_table_at is bs_world.table, and bs_linux_caught its trampoline, for the modules of this process. */
const uint8_t *bs_linux_table_at(void *context, bs_word pc, bs_word *bias);
int bs_linux_caught(void *context, const struct bs_world *world, struct bs_regs *regs);

/* bs_linux_world is the world of this process: its modules, its memory, signal frames. */
extern const struct bs_world bs_linux_world;

/* bs_linux_signal lets regs be what a signal has interrupted: ucontext is the third argument of a
 * handler that was set with SA_SIGINFO. */
void bs_linux_signal(const void *ucontext, struct bs_regs *regs);

/* bs_linux_print writes the report that `backsight bt` reads in a log, for the frames of a backtrace. */
void bs_linux_print(int fd, const bs_word *pcs, int n);

/* bs_linux_report walks and writes that report, each line before the next frame is looked for. ucontext is that of
 * bs_linux_signal. A frame behind a question mark was guessed, or one before it. */
void bs_linux_report(int fd, const void *ucontext);

#endif
