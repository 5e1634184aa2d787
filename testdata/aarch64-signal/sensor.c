/* A sensor's daemon: while it sorts samples in the C library's qsort, a signal
 * arrives; its handler reports through a plug-in whose entry is missing. */
#include <signal.h>
#include <stdlib.h>
#include "plug.h"

#define noinline __attribute__((noinline, noclone))

struct sample {
	int time, value;
};

static struct sample samples[] = {{3, 30}, {1, 10}, {4, 40}, {2, 20}};
volatile int compared;

static noinline void on_alarm(int sig)
{
	plug_report(&plug_none, sig);
	compared++;
}

static noinline int by_time(const void *a, const void *b)
{
	if (++compared == 3)
		raise(SIGUSR1);
	return ((const struct sample *)a)->time - ((const struct sample *)b)->time;
}

/* A frame of more than 64 KiB. */
static noinline int digest(struct sample *s, int n)
{
	volatile int history[20000];
	for (int i = 0; i < 20000; i++)
		history[i] = i;
	qsort(s, n, sizeof *s, by_time);
	return history[s[0].value];
}

int main(void)
{
	signal(SIGUSR1, on_alarm);
	return digest(samples, 4) + compared;
}
