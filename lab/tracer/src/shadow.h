/* A shadow stack: the true call chain of a program that is watched at every
 * instruction. */
#ifndef SHADOW_H
#define SHADOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* abi is how calls work on a CPU. */
struct abi {
	unsigned word;    /* bytes */
	bool link;        /* a call leaves the return address in a register, not at SP */
	uint64_t mode;    /* the bits of a return address that are no address */
	uint64_t (*load)(uint64_t addr); /* a word of the program's memory */
};

/* moment is the machine before an instruction. */
struct moment {
	uint64_t pc, sp, lr;
	uint64_t t7; /* MIPS: lazy binding stubs keep ra there; elsewhere 0 */
	unsigned len; /* of the instruction, in bytes */
	bool thumb;   /* ARM: return addresses are odd */
};

/* activation is a function that was entered and not left. */
struct activation {
	uint64_t ret;   /* where it returns to; of a signal, the interrupted instruction */
	uint64_t cfa;   /* SP in the caller at the call; of a signal, about where SP was */
	uint64_t start; /* where the call went; of a signal, its trampoline */
	uint64_t low;   /* the lowest SP so far */
	uint64_t ran;   /* instructions executed in it, those of callees left out */
	bool signal;    /* not a call but what the kernel put on the stack */
};

struct shadow {
	const struct abi *abi;
	struct activation *at; /* outermost first */
	size_t n, room;
	unsigned signals; /* how many of them are signals */
	bool mistaken;    /* the last signal's Ret was not where the program went on */
	struct moment was;
	bool begun;
};

void shadow_reset(struct shadow *, const struct abi *);
/* shadow_step moves to the next instruction. true: it is the first of a call. */
bool shadow_step(struct shadow *, const struct moment *now);

#endif
