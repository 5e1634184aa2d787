/* backtrace() of execinfo.h, for programs that call it: linked in, or as an LD_PRELOAD object. */
#include "modules.h"

int backtrace(void **buffer, int size);

__attribute__((constructor)) static void refresh(void) { bs_linux_refresh(); }

/* The address in backtrace's caller comes first, as from the C library, so that backtrace's own is
 * dropped: of a stack that has more frames than the buffer has room for, one less is written. */
int backtrace(void **buffer, int size)
{
	int i, n;

	if (size < 2) {
		if (size == 1)
			buffer[0] = __builtin_return_address(0);
		return size == 1;
	}
	bs_linux_refresh();
	n = bs_frames(&bs_linux_world, buffer, size) - 1;
	for (i = 0; i < n; i++)
		buffer[i] = buffer[i + 1];
	return n > 0 ? n : 0;
}
