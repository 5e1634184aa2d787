/* For a program that knows nothing of this library: with BACKSIGHT_REPORT in the environment, - or the name of a file, its
 * crashes are reported there, with all threads. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "install.h"

enum { THREADS = 1000 };

__attribute__((constructor)) static void begin(void)
{
	const char *to = secure_getenv("BACKSIGHT_REPORT");

	if (to && strcmp(to, "-") == 0)
		bs_install(STDERR_FILENO, 0, THREADS);
	else if (to)
		bs_install(-1, to, THREADS);
}
