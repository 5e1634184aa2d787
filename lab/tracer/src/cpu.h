/* The CPUs: their registers by GDB's numbers, and the program's memory. */
#ifndef CPU_H
#define CPU_H

#include "qemu.h"
#include "shadow.h"

struct cpu {
	const char *target; /* QEMU's name */
	int (*read)(CPUState *, GByteArray *, int);
	const char *names; /* of registers 0, 1, … in the snapshot format, "-" where there is none */
	int sp, lr, arg;   /* GDB's numbers; arg: the first argument, -1 where it is on the stack */
	int alt;           /* moment.alt, -1 where there is none */
	int cpsr;          /* ARM's, whose bit 5 is Thumb; elsewhere -1 */
	int pc;            /* MIPS's, whose bit 0 is the ISA mode; elsewhere -1 */
	bool big;
	struct abi abi;
};

/* cpu_find is the CPU of an emulator, NULL where it is not known. */
struct cpu *cpu_find(const char *target);
uint64_t cpu_register(const struct cpu *, unsigned vcpu, int n);
/* memory_read copies what can be read of size bytes and says how many. */
size_t memory_read(uint64_t addr, void *to, size_t size);
/* memory_word is a word in the bytes of memory. */
uint64_t memory_word(const struct cpu *, const uint8_t *);

#endif
