/* A Linux program that fails behind bs_install, with a second thread:
 *
 *     install CASE FILE      reports to standard output and to the file, and dies */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../ports/linux/install.h"

static const char *kind;
static volatile int ready;

__attribute__((noinline)) int leaf(volatile int *p) { return *p; }

/* The report asks for the thread's name: a fault in the report. */
int prctl(int option, ...)
{
	va_list list;
	long to;

	va_start(list, option);
	to = va_arg(list, long);
	va_end(list);
	return strcmp(kind, "inside") == 0 ? leaf((int *)8) : (int)syscall(SYS_prctl, option, to, 0, 0, 0);
}

__attribute__((noinline)) int recurse(int n)
{
	volatile char room[1000];

	room[n % 1000] = (char)n;
	return n < 0 ? 0 : recurse(n + 1) + room[n % 1000];
}

__attribute__((noinline)) int deep(volatile int *p)
{
	volatile int n = *p + 1;

	return n < 0 ? 0 : deep(&n) + n;
}

__attribute__((noinline)) static int waits(int n)
{
	for (ready = n; ready;)
		usleep(1000);
	return n;
}

static void *worker(void *context)
{
	int n = waits(1) + 1;

	(void)context;
	return (void *)(long)n;
}

__attribute__((noinline)) static int fails(int n)
{
	if (strcmp(kind, "abort") == 0)
		abort();
	if (strcmp(kind, "overflow") == 0)
		return recurse(n);
	if (strcmp(kind, "deep") == 0)
		return deep(&n);
	return leaf((int *)8) + n;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	kind = argc > 1 ? argv[1] : "";
	if (bs_install(STDOUT_FILENO, argc > 2 ? argv[2] : 0, 1000) != 0)
		return 1;
	pthread_create(&thread, 0, worker, 0);
	while (!ready)
		usleep(1000);
	return fails(argc) + 1;
}
