/* A capture: registers, stack and the true call chain as a line of JSON. */
#ifndef CAPTURE_H
#define CAPTURE_H

#include <stdio.h>

#include "cpu.h"
#include "pick.h"

struct place {
	unsigned vcpu;
	const struct shadow *shadow;
	size_t base; /* the outermost activation of the chain */
	uint64_t step, before; /* before: the instruction that was executed last */
};

/* capture_kind is where in its function an instruction stands. */
enum kind capture_kind(const struct shadow *, size_t base);

/* capture_called notes where a function keeps its return address that now calls. */
void capture_called(const struct cpu *, struct activation *, uint64_t sp);

/* capture_write writes a capture. false: a return address does not lie in its frame,
 * or the stack is too large. */
bool capture_write(FILE *, const struct cpu *, const struct place *, enum kind);

/* capture_mark writes the true chain at a place that the program marked with a number. */
void capture_mark(FILE *, const struct place *, uint64_t number);

#endif
