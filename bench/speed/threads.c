// usage: threads N   aborts with N further threads, each of which waits below some calls.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t ready;

static int deep(int n) {
	volatile char room[64] = {n};
	if (n == 0) {
		pthread_barrier_wait(&ready);
		pause();
	}
	return deep(n - 1) + room[0];
}

static void *run(void *unused) { return (void *)(long)deep(10); }

int main(int argc, char **argv) {
	int n = atoi(argv[1]);
	pthread_attr_t small;
	pthread_barrier_init(&ready, 0, n + 1);
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32768);
	for (int i = 0; i < n; i++) {
		pthread_t t;
		if (pthread_create(&t, &small, run, 0))
			return 1;
	}
	pthread_barrier_wait(&ready);
	sleep(1);
	abort();
}
