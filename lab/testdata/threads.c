// Threads whose call chains are known: threads COUNT CHURN. Thread i waits below i%9+1 calls of middle, while CHURN others start and
// end threads all the time.
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static volatile int never;

__attribute__((noinline)) int inner(int n)
{
	while (!never)
		sleep(1000);
	return n;
}

__attribute__((noinline)) int middle(int n) { return n > 0 ? middle(n - 1) + never : inner(n) + never; }

__attribute__((noinline)) int outer(int n) { return middle(n) * 3; }

static void *worker(void *arg) { return (void *)(long)outer((int)(long)arg); }

static void *brief(void *arg) { return arg; }

static void *starter(void *arg)
{
	for (;;) {
		pthread_t t;
		if (pthread_create(&t, 0, brief, arg) == 0)
			pthread_join(t, 0);
	}
}

int main(int argc, char **argv)
{
	pthread_t t;
	int count = argc > 1 ? atoi(argv[1]) : 8, churn = argc > 2 ? atoi(argv[2]) : 0;
	for (int i = 0; i < count; i++)
		pthread_create(&t, 0, worker, (void *)(long)(i % 9));
	for (int i = 0; i < churn; i++)
		pthread_create(&t, 0, starter, 0);
	return outer(9);
}
