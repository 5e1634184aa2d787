/* What is interrupted: recursion, frames of variable size, calls through pointers, floating point (GCC's own functions
 * where the processor has none), functions without a frame. All but leaf and between are instrumented. */
#include "metal.h"

#include <stddef.h>

#define PLAIN __attribute__((noinline, no_instrument_function))

PLAIN static int leaf(int n) { return n * 7919 % 101; }

PLAIN static int between(int n) { return leaf(n) + leaf(n + 1); }

__attribute__((noinline)) static int compare(const int *a, const int *b) { return *a - *b; }

__attribute__((noinline)) static void sort(int *numbers, int n, int (*by)(const int *, const int *))
{
	int i, k, held;

	for (i = 1; i < n; i++) {
		held = numbers[i];
		for (k = i; k > 0 && by(&numbers[k - 1], &held) > 0; k--)
			numbers[k] = numbers[k - 1];
		numbers[k] = held;
	}
}

__attribute__((noinline)) static int text(int n)
{
	char *room = __builtin_alloca((size_t)(16 + n % 7 * 16));
	int i;

	for (i = 0; i < 12; i++)
		room[i] = (char)('a' + between(n + i) % 26);
	return room[n % 12];
}

__attribute__((noinline)) static int scale(int n)
{
	volatile float x = (float)n;
	float y = x * 1.5f + 2.0f;

	return (int)(y * (float)between(n)) + text(n);
}

__attribute__((noinline)) static int deep(int n, volatile int *above)
{
	volatile int room[16];
	int numbers[12], i;

	room[n & 15] = above[0];
	for (i = 0; i < 12; i++)
		numbers[i] = leaf(n + i);
	if (n == 0)
		return room[0] + scale(numbers[3]);
	if (n % 3 == 0)
		sort(numbers, 12, compare);
	return deep(n - 1, room) + numbers[n % 12] + text(n);
}

int work(int n)
{
	volatile int room[2];

	room[0] = 0;
	room[1] = 0;
	return deep(n % 16, room);
}
