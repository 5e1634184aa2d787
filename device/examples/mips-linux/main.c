/* A program that fails, and says where. */
#include <signal.h>
#include <unistd.h>

#include "../../ports/linux/modules.h"

static void report(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)info;
	bs_linux_report(STDERR_FILENO, context);
	_exit(3);
}

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
	struct sigaction action = {0};

	bs_linux_refresh();
	action.sa_sigaction = report;
	action.sa_flags = SA_SIGINFO;
	sigaction(SIGSEGV, &action, 0);
	return total() + 1;
}
