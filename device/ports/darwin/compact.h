/* Rules of compact unwind: a function's frame in 32 bits (mach-o/compact_unwind_encoding.h). x86-64 and arm64. */
#ifndef BACKSIGHT_DARWIN_COMPACT_H
#define BACKSIGHT_DARWIN_COMPACT_H

#include "../../backsight.h"

/* A section __unwind_info in memory. Its offsets count from base, the image's header; code lies from low up to high. */
struct bs_darwin_unwind {
	const uint8_t *info;
	size_t size;
	bs_word base, low, high;
};

/* bs_darwin_by_compact is the rule at an address, as bs_world.rule has at and exact: prologues and epilogues have the same encoding as
 * what lies between, so that an exact frame's rule is guessed. False: there is none, or call frame information has the function. */
int bs_darwin_by_compact(const struct bs_darwin_unwind *u, bs_word at, int exact, struct bs_rule *rule);

#endif
