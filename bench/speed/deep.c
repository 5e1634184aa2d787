// Calls itself as often as its argument says, and aborts.
#include <stdlib.h>

static volatile int sum;

static __attribute__((noinline)) int deeper(int n)
{
	if (n == 0)
		abort();
	sum += deeper(n - 1);
	return sum;
}

int main(int argc, char **argv)
{
	return deeper(argc > 1 ? atoi(argv[1]) : 1000);
}
