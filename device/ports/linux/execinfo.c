/* backtrace() of execinfo.h, for programs that call it: linked in, or as an LD_PRELOAD object. */
#include "modules.h"

int backtrace(void **buffer, int size);

__attribute__((constructor)) static void refresh(void) { bs_linux_refresh(); }

/* backtrace's own return address comes first, as from the C library. */
int backtrace(void **buffer, int size)
{
	int n;

	bs_linux_refresh();
	n = bs_frames(&bs_linux_world, buffer, size);
	__asm__ volatile("" : : "r"(buffer) : "memory"); /* no tail call: this function has a frame of its own */
	return n;
}
