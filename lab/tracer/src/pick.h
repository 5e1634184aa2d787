/* Which instructions are captured: captures are spread over the run, over the code
 * and over the kinds of places. */
#ifndef PICK_H
#define PICK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of places, by the run alone. */
enum kind { ENTRY, PROLOGUE, BODY, EPILOGUE, LEAF, SIGNAL, KINDS };

extern const char *const kind_names[KINDS];

struct pick {
	uint64_t keep, total; /* captures wanted, instructions expected */
	uint64_t taken, of[KINDS];
	struct { uint64_t *key; uint8_t *n; size_t room, used; } counts;
};

bool pick_wants(const struct pick *, enum kind, uint64_t pc, uint64_t step);
void pick_took(struct pick *, enum kind, uint64_t pc);

#endif
