/* backtrace() of execinfo.h, for programs that call it: linked in, or as an LD_PRELOAD object. With
 * BACKSIGHT_GUESS in the environment it goes on where no rule is known; a null pointer stands
 * before the frames that are found so. */
#include <stdlib.h>

#include "../../entry.h"
#include "memory.h"
#include "modules.h"
#include "scan.h"

int backtrace(void **buffer, int size);

static int guessing;

__attribute__((constructor)) static void begin(void)
{
	guessing = getenv("BACKSIGHT_GUESS") != 0;
	bs_linux_refresh();
}

/* The address in backtrace's caller comes first, as from the C library. */
BS_ENTERED int bs_linux_backtrace(void **buffer, int size, long unused, long neither, struct bs_regs *regs)
{
	struct bs_linux_pages pages = {0, 0};
	struct bs_world world = guessing ? bs_linux_guessing_world : bs_linux_world;

	(void)unused, (void)neither;
	world.context = &pages;
	bs_linux_refresh();
	return bs_frames_from(&world, 0, buffer, size, regs);
}

BS_ENTRY(backtrace, bs_linux_backtrace)
