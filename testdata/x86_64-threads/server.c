/* Five threads of a server: one crashes deep inside a library while the others
 * sleep, wait and compute. */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "tree.h"

#define noinline __attribute__((noinline, noclone))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static sem_t ready;
volatile long sum;

/* Waits for a condition that nobody signals. */
static noinline void next_job(void)
{
	pthread_mutex_lock(&lock);
	sem_post(&ready);
	for (;;)
		pthread_cond_wait(&work, &lock);
}

static void *worker(void *arg)
{
	next_job();
	return arg;
}

/* Sleeps below a recursion. */
static noinline long nap(int depth)
{
	struct timespec t = {1000, 0};
	if (!depth) {
		sem_post(&ready);
		return nanosleep(&t, NULL);
	}
	return nap(depth - 1) + 1;
}

static void *sleeper(void *arg)
{
	return (void *)nap((int)(long)arg);
}

/* Calls back from the C library: bsearch → compare → pause. */
static noinline int compare(const void *key, const void *elem)
{
	sem_post(&ready);
	while (pause())
		;
	return *(const long *)key - *(const long *)elem;
}

static void *searcher(void *arg)
{
	static const long table[4] = {1, 2, 3, 4};
	long *found = bsearch(arg, table, 4, sizeof *table, compare);
	return found ? arg : NULL;
}

/* Adds a leaf's weight; a leaf has none. */
static noinline void visit(void *ctx, struct node *n)
{
	*(volatile long *)ctx += *n->weight;
}

static noinline void *indexer(void *arg)
{
	tree_walk(arg, visit, (void *)&sum);
	return NULL;
}

int main(void)
{
	pthread_t t;
	sem_init(&ready, 0, 0);
	pthread_create(&t, NULL, worker, NULL);
	pthread_create(&t, NULL, sleeper, (void *)3);
	pthread_create(&t, NULL, searcher, (void *)&sum);
	for (int i = 0; i < 3; i++)
		sem_wait(&ready);
	usleep(200000); /* until they are inside their calls */
	pthread_create(&t, NULL, indexer, tree_make(4));
	pthread_join(t, NULL);
	return 0;
}
