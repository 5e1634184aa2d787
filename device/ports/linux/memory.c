#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096 }; /* or a part of a larger one */

/* The kernel reads a set of signals there before it looks at what is to be done with them, which is nothing that there
 * is: it fails with EFAULT or with EINVAL, and nobody gets a signal. */
int bs_linux_readable(bs_word at)
{
	uintptr_t page = (uintptr_t)at & ~(uintptr_t)(PAGE - 1);
	int before = errno, faulted;

	if (page == 0) /* no set at all */
		return 0;
	faulted = syscall(SYS_rt_sigprocmask, -1, page, 0, _NSIG / 8) != 0 && errno == EFAULT;
	errno = before;
	return !faulted;
}

int bs_linux_read(void *context, bs_word at, bs_word *value)
{
	struct bs_linux_pages here, *known = context;
	bs_word page = at & ~(bs_word)(PAGE - 1);

	if (!known) {
		known = &here;
		here.low = here.high = 0;
	}
	if (at < known->low || at >= known->high) {
		if (!bs_linux_readable(at))
			return 0;
		if (page != known->high) /* not the next one upwards */
			known->low = page;
		known->high = page + PAGE;
	}
	*value = *(const bs_word *)(uintptr_t)at;
	return 1;
}
