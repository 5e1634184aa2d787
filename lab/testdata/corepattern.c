// Crashes below N calls, with so many threads beside it: victim THREADS N.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int *nowhere;

__attribute__((noinline)) int inner(int n) { return n > 0 ? inner(n - 1) + 1 : *nowhere; }

__attribute__((noinline)) int middle(int n) { return inner(n) * 3; }

static void *sleeper(void *arg)
{
	sleep(1000);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 0; i < threads; i++)
		pthread_create(&thread, 0, sleeper, 0);
	if (threads > 0)
		usleep(20000);
	return middle(argc > 2 ? atoi(argv[2]) : 0);
}
