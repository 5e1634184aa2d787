/* backtrace() of execinfo.h, for programs that call it: linked in, or as an LD_PRELOAD object. With
 * BACKSIGHT_GUESS in the environment it goes on behind libraries without tables; a null pointer stands
 * before the frames that are found so. */
#include <stdlib.h>

#include "modules.h"
#include "scan.h"

int backtrace(void **buffer, int size);

static const struct bs_world *world = &bs_linux_world;

__attribute__((constructor)) static void begin(void)
{
	if (getenv("BACKSIGHT_GUESS"))
		world = &bs_linux_guessing_world;
	bs_linux_refresh();
}

/* The address in backtrace's caller comes first, as from the C library. */
int backtrace(void **buffer, int size)
{
	int n;

	bs_linux_refresh();
	n = bs_frames(world, 1, buffer, size);
	__asm__ volatile(""); /* the call is none in the last place, which would leave no frame to skip */
	return n;
}
