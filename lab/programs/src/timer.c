/* Signals at any instruction: a profiling timer interrupts calls, returns, prologues and the C library. */
#include "lab.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static volatile int ticks;
NOINLINE int leaf(int a) { return a * 3 + sink; }
NOINLINE int inner(int a) { char b[24]; fill(b, 24, a); return b[1] + leaf(a); }
static void tick(int n, siginfo_t *i, void *c) { (void)i; (void)c; ticks += inner(n) != 0; }

NOINLINE int fib(int n) { return n < 2 ? leaf(n) : fib(n - 1) + fib(n - 2); }
NOINLINE int many(int a) { char b[300]; fill(b, sizeof b, a); int s = 0; for (int i = 0; i < 20; i++) s += inner(i) + b[i]; return s; }
NOINLINE int printed(int a) { char b[80]; return snprintf(b, sizeof b, "%d %s %5.2f", a, "text", a / 3.0) + (int)strlen(b); }
static int compare(const void *a, const void *b) { return leaf(*(const int *)a) - leaf(*(const int *)b); }
NOINLINE int sorted(int n) { int v[40]; for (int i = 0; i < 40; i++) v[i] = i * n % 41; qsort(v, 40, sizeof *v, compare); return v[3]; }

int main(void) {
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = tick;
	sa.sa_flags = SA_SIGINFO | SA_RESTART;
	sigaction(SIGALRM, &sa, 0);
	struct itimerval every = {{0, 900}, {0, 900}};
	setitimer(ITIMER_REAL, &every, 0);
	for (int i = 0; i < 2000 && ticks < 150; i++) sink += fib(9) + many(i) + printed(i) + sorted(i);
	memset(&every, 0, sizeof every);
	setitimer(ITIMER_REAL, &every, 0);
	return sink == 12345;
}
