/* A program that fails, and says where. */
#include <unistd.h>

#include "../../ports/linux/install.h"

struct node {
	struct node *next;
	int value;
};

__attribute__((noinline)) static int sum(const volatile struct node *n)
{
	int all = 0;
	for (;; n = n->next) /* the list has no end: NULL is followed */
		all += n->value;
	return all;
}

__attribute__((noinline)) static int total(void)
{
	struct node last = {0, 2}, first = {&last, 1};
	return sum(&first) + 1;
}

int main(void)
{
	bs_install(STDERR_FILENO, 0, 0);
	return total() + 1;
}
