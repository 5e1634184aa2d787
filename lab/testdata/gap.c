// How long a process stands still: gap THREADS LIBRARY. THREADS wait below some calls; one looks at the clock each millisecond, and the
// longest time between two looks, in microseconds, is printed at each line of standard input.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static volatile long longest;

static long now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void *clocked(void *arg)
{
	for (long last = now();;) {
		struct timespec t = {0, 1000000};
		nanosleep(&t, 0);
		long n = now();
		if (n - last > longest)
			longest = n - last;
		last = n;
	}
	return arg;
}

static volatile int never;
__attribute__((noinline)) int wait_here(int n) { return n > 0 ? wait_here(n - 1) + never : (int)sleep(100000) + never; }
static void *waits(void *arg) { return (void *)(long)(wait_here((int)(long)arg) + never); }

int main(int argc, char **argv)
{
	pthread_t t;
	char line[16];
	if (argc < 3 || !dlopen(argv[2], RTLD_NOW))
		return 1;
	for (int i = 0; i < atoi(argv[1]); i++)
		pthread_create(&t, 0, waits, (void *)(long)(i % 20));
	pthread_create(&t, 0, clocked, 0);
	printf("%d\n", getpid());
	fflush(stdout);
	while (fgets(line, sizeof line, stdin)) {
		printf("%ld\n", longest);
		fflush(stdout);
		longest = 0;
	}
	return 0;
}
