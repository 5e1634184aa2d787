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
	bool millicode;   /* moment.alt is a link register, too */
	uint64_t (*load)(uint64_t addr); /* a word of the program's memory */
};

/* moment is the machine before an instruction. */
struct moment {
	uint64_t pc, sp, lr;
	/* RISC-V: t0, in which calls of millicode leave the return address; MIPS: t7, in
	 * which lazy binding stubs keep ra; elsewhere 0. */
	uint64_t alt;
	unsigned len; /* of the instruction, in bytes */
	bool thumb;   /* ARM: return addresses are odd */
	bool switches; /* the instruction is of a function that may change to another stack */
};

/* activation is a function that was entered and not left. */
struct activation {
	uint64_t ret;   /* where it returns to; of a signal, the interrupted instruction */
	uint64_t cfa;   /* SP in the caller at the call; of a signal, about where SP was */
	uint64_t start; /* where the call went; of a signal, its trampoline */
	uint64_t low;   /* the lowest SP so far */
	uint64_t ran;   /* instructions executed in it, those of callees left out */
	bool signal;    /* not a call but what the kernel put on the stack */
	bool binding;   /* its call led to a lazy binding stub, whose resolver runs */
	bool strange;   /* a longjmp led here that another function had prepared */
	uint64_t serial; /* different for each activation */
	/* The words that held ret when the function first called another one: one of them
	 * is where the function keeps ret; 0 where there are fewer. */
	uint64_t saved[4];
};

/* call is one that was made: where it returns to, and the caller's serial. */
struct call {
	uint64_t ret, by;
};

enum { remembered = 1024, stacks = 256 };

/* parked is a stack that the program left for another. */
struct parked {
	struct activation *at;
	size_t n, room;
	unsigned signals;
	uint64_t sp; /* where it was left */
};

/* beside is a jump to the next instruction that left that instruction's address in the link register: it calls
 * a function that begins there, or reads the PC. */
struct beside {
	struct activation a; /* of the call; ret is 0 where there was none, or what it did is known */
	size_t n;            /* the activations then */
};

struct shadow {
	const struct abi *abi;
	struct activation *at; /* outermost first */
	size_t n, room;
	unsigned signals; /* how many of them are signals */
	bool mistaken;    /* the last signal's Ret was not where the program went on */
	uint64_t millicode; /* where the millicode that runs returns to; 0: none runs */
	uint64_t serial;    /* of the last activation */
	struct call calls[remembered]; /* the last ones, by return address */
	struct moment was;
	uint64_t earlier; /* LR at the moment before was: a delay slot sees what its call has left */
	bool begun;
	struct beside beside; /* while its ret is set, nobody can tell the chain */
	struct parked left[stacks]; /* a ring */
	size_t leaves;
};

void shadow_reset(struct shadow *, const struct abi *);
/* shadow_step moves to the next instruction. true: it is the first of a call. */
bool shadow_step(struct shadow *, const struct moment *now);

#endif
