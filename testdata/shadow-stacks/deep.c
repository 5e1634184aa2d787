/* The innermost frame of a deep recursion writes over all its callers. */
#include "start.h"

NOINLINE int walk(int depth, volatile long *top)
{
	volatile long here[3] = {depth, depth, depth};
	if (depth == 0) {
		for (volatile long *p = here; p < top; p++)
			*p = (long)0xdeadbeefdeadbeef;
		return (int)*(volatile long *)here[1];
	}
	return walk(depth - 1, top ? top : here + 1) + (int)here[0];
}

int run(int n) { return walk(n + 4, 0) + 1; }
