/* Signals: raised in a leaf, in the middle of a frame, nested in a handler, a fault in the first instruction of a chain, on an alternate stack's size of frame. */
#include "lab.h"
#include <signal.h>
#include <string.h>

NOINLINE int inner(int a) { char b[24]; fill(b, 24, a); return b[3] + sink; }
void handler(int n) { sink += inner(n); }
void handler_info(int n, siginfo_t *i, void *c) { (void)i; (void)c; sink += inner(n) + 1; if (n == SIGUSR2) raise(SIGUSR1); }

NOINLINE int raises(int a) { int x = inner(a); raise(SIGUSR1); return x + inner(a + 1); }
NOINLINE int nests(int a) { raise(SIGUSR2); return inner(a) + 1; }

static volatile int fixed;
static int mended = 3;
int *volatile where;
void on_fault(int n, siginfo_t *i, void *c) { (void)n; (void)i; (void)c; where = &mended; fixed++; sink += inner(2); }
NOINLINE int faults(int a) { int s = inner(a); where = (int *)8; s += *where; return s; }

static void install(int n, void (*f)(int, siginfo_t *, void *)) {
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = f;
	sa.sa_flags = SA_SIGINFO;
	sigaction(n, &sa, 0);
}

int main(void) {
	signal(SIGUSR1, handler);
	install(SIGUSR2, handler_info);
	sink += raises(2) + nests(3) + raises(4);
	return sink == 12345;
}
