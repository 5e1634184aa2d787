// userspace.c WAY: a program that stands level3 ← level2 ← level1 ← main (of threads: worker), where the argument says.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define own __attribute__((noinline, noclone))

static volatile unsigned long steps;
static int ends[2];

static own int stand(const char *way)
{
	char byte;
	if (!strcmp(way, "read"))
		return (int)read(ends[0], &byte, 1);
	if (!strcmp(way, "spin"))
		for (;;)
			steps++;
	for (;;)
		sleep(10000);
}

own int level3(const char *way, int n)
{
	volatile char room[200 + 8 * 16];
	room[n] = (char)n;
	int r = stand(way);
	return r + room[n];
}

own int level2(const char *way, int n)
{
	volatile int local[4] = {n};
	int r = level3(way, n + 1);
	return r + local[0];
}

own int level1(const char *way, int n)
{
	int r = level2(way, n * 2);
	return r ^ n;
}

static const char *after = "sleep";

static own void handler(int sig) { level1(after, sig); }

own void *worker(void *arg)
{
	return (void *)(long)(level1(arg, 3) + 1);
}

// enormous begins a thread whose stack is one page of 2 MB, where the kernel has such pages.
static own int enormous(void)
{
	const size_t size = 2 << 20;
	pthread_t thread;
	pthread_attr_t attr;
	void *stack;
	if (posix_memalign(&stack, size, size) || pthread_attr_init(&attr) || pthread_attr_setstack(&attr, stack, size))
		return 1;
	madvise(stack, size, MADV_HUGEPAGE);
	memset(stack, 1, size);
	return pthread_create(&thread, &attr, worker, "sleep") || pthread_join(thread, 0);
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "sleep";
	pthread_t threads[3];
	if (pipe(ends))
		return 1;
	if (!strcmp(way, "threads")) {
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], 0, worker, i == 1 ? "read" : "sleep");
		return pthread_join(threads[0], 0);
	}
	if (!strcmp(way, "enormous"))
		return enormous();
	if (!strcmp(way, "signal")) {
		signal(SIGUSR1, handler);
		return raise(SIGUSR1);
	}
	return level1(way, argc) + 1;
}
