/* Traps of RISC-V, RV32 and RV64, machine or supervisor mode. */
#ifndef BACKSIGHT_TRAP_H
#define BACKSIGHT_TRAP_H

#include "../../backsight.h"

/* bs_riscv_trap lets regs be those of what a trap has interrupted. x has x0 to x31 as the trap's
 * entry saved them, pc is mepc or sepc. */
void bs_riscv_trap(const bs_word *x, bs_word pc, struct bs_regs *regs);

#endif
