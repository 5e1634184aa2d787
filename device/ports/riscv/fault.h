/* A trap entry that prints what has failed, with its backtrace, as ../report.h says. Machine mode. */
#ifndef BACKSIGHT_RISCV_FAULT_H
#define BACKSIGHT_RISCV_FAULT_H

#include "trap.h"
#include "../hooks.h"

#if !defined(__clang__)
__asm__(".option arch, +zicsr"); /* of which GCC 12 has no library */
#endif

/* bs_riscv_entry is for mtvec (direct mode), or is jumped to by an entry of one's own with all registers as they were but
 * mscratch. It has a stack of its own, and ends in bs_end. */
void bs_riscv_entry(void);

/* bs_riscv_report is for an entry that has saved x0 to x31: reports, and returns where bs_end does. */
void bs_riscv_report(const bs_word *x, bs_word pc);

/* bs_riscv_read reads a word of memory that is there: bs_world.read. Interrupts are to be off. Between bs_ram_low and
 * bs_ram_high (../hooks.h), and without them anywhere, a word is tried with a trap vector of the reader's own. */
int bs_riscv_read(void *context, bs_word address, bs_word *value);

#endif
