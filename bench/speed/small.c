// A small program that aborts below qsort.
#include <stdlib.h>

static int compare(const void *a, const void *b) { abort(); }

int deep(int n) {
	int list[4] = {3, 2, 1, 0};
	if (n > 0)
		return deep(n - 1) + 1;
	qsort(list, 4, sizeof *list, compare);
	return list[0];
}

int main(void) { return deep(8); }
