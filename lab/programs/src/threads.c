/* Threads that wait for each other: a queue with mutex and conditions, thread-local data, a key with a destructor, a once, a join. */
#include "lab.h"
#include <pthread.h>
#include <stdlib.h>

enum { workers = 3, items = 12 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER, room = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static int queue[4], head, tail;
static __thread int own;

NOINLINE int leaf(int a) { own += a; return own * 3 + sink; }
NOINLINE int work(int a) { char b[100]; fill(b, sizeof b, a); return a > 0 ? work(a - 1) + leaf(b[0]) : leaf(a); }
static void done(void *p) { sink += leaf(*(int *)p); free(p); }
static void first(void) { pthread_key_create(&key, done); sink += work(1); }
NOINLINE void put(int v) {
	pthread_mutex_lock(&lock);
	while (tail - head == 4) pthread_cond_wait(&room, &lock);
	queue[tail++ % 4] = v;
	pthread_cond_signal(&more);
	pthread_mutex_unlock(&lock);
}
NOINLINE int get(void) {
	pthread_mutex_lock(&lock);
	while (tail == head) pthread_cond_wait(&more, &lock);
	int v = queue[head++ % 4];
	pthread_cond_signal(&room);
	pthread_mutex_unlock(&lock);
	return v;
}
static void *worker(void *p) {
	pthread_once(&once, first);
	int *total = malloc(sizeof *total);
	*total = (int)(long)p;
	pthread_setspecific(key, total);
	for (int v; (v = get()) >= 0;) *total += work(v % 5);
	return (void *)(long)*total;
}

int main(void) {
	pthread_t t[workers];
	for (long i = 0; i < workers; i++) pthread_create(&t[i], 0, worker, (void *)i);
	for (int i = 0; i < items; i++) put(i);
	for (int i = 0; i < workers; i++) put(-1);
	for (int i = 0; i < workers; i++) { void *r; pthread_join(t[i], &r); sink += (int)(long)r & 7; }
	return sink == 12345;
}
