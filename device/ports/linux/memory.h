/* Memory that may not be there. */
#ifndef BACKSIGHT_MEMORY_H
#define BACKSIGHT_MEMORY_H

#include "../../backsight.h"

/* What a walk knows to be readable, from low up to high; 0 and 0 at its begin. */
struct bs_linux_pages {
	bs_word low, high;
};

/* bs_linux_read is bs_world.read: no word is read that the kernel cannot read. With a struct bs_linux_pages for context a
 * page is asked for once. */
int bs_linux_read(void *context, bs_word at, bs_word *value);

/* bs_linux_readable tells whether the page of an address can be read. */
int bs_linux_readable(bs_word at);

#endif
