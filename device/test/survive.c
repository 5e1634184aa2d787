/* A Linux program that fails, and what its handler finds: the functions that ran, by name, and why the walk ended.
 *
 *     survive CASE       prints CASE: NAME NAME … why N
 *
 * The program has to be told apart from the C library, whose frames are "-". A signal in the handler's walk ends it
 * with "inside". */
#define _GNU_SOURCE
#include <alloca.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../ports/linux/memory.h"
#include "../ports/linux/modules.h"

enum { MOST = 64 };

static char kind[16];
static volatile int words = 18; /* of its frame and the next ones that smash writes over */
static volatile int handling;
static char *pages; /* one to write to, one that cannot be read */

int smash(int n), fails(int n), sized(int n), large(int n), compare(const void *a, const void *b), sorts(int n), recurse(int n), leaf(int *p), bare(void), outer(int n);
int main(int argc, char **argv);

static const struct {
	const char *name;
	const void *at;
} functions[] = {{"smash", smash}, {"fails", fails}, {"sized", sized}, {"large", large}, {"compare", compare}, {"sorts", sorts},
		 {"recurse", recurse}, {"leaf", leaf}, {"bare", bare}, {"outer", outer}, {"main", main}};

/* name_of is the function before an address that is nearest. */
static const char *name_of(bs_word pc)
{
	const char *name = "-";
#ifdef __OPTIMIZE__
	bs_word best = 400; /* bytes of main, behind which the C library's code may stand */
#else
	bs_word best = 1000;
#endif
	unsigned i;

	for (i = 0; i < sizeof functions / sizeof *functions; i++) {
		bs_word at = (bs_word)(uintptr_t)functions[i].at & ~(bs_word)1;
		if (pc >= at && pc - at < best) {
			best = pc - at;
			name = functions[i].name;
		}
	}
	return name;
}

static void print(const bs_word *pcs, int n, enum bs_stop why)
{
	int i;

	printf("%s:", kind);
	for (i = 0; i < n; i++)
		printf(" %s", name_of(pcs[i] - (i > 0)));
	printf(" why %d\n", why);
	fflush(stdout);
}

/* spoil lets the stack pointer be what it is after a failure. */
static void spoil(struct bs_regs *regs)
{
	if (strcmp(kind, "wild") == 0)
		regs->r[BS_SP] = 0x5a5a5a50;
	else if (strcmp(kind, "null") == 0)
		regs->r[BS_SP] = 0;
	else if (strcmp(kind, "top") == 0)
		regs->r[BS_SP] = ~(bs_word)15;
	else if (strcmp(kind, "guard") == 0)
		regs->r[BS_SP] = (bs_word)(uintptr_t)pages + 4096 - BS_WORD;
	else if (strcmp(kind, "odd") == 0)
		regs->r[BS_SP] += 1;
	else
		return;
	regs->r[BS_FP] = regs->r[BS_SP];
}

/* QEMU 7.2 enters handlers of x86-64 with a stack that is not aligned as the ABI wants. */
#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))
#endif
static void on(int number, siginfo_t *info, void *context)
{
	struct bs_regs regs;
	bs_word pcs[MOST];
	enum bs_stop why;
	int n;

	(void)number, (void)info;
	if (handling++ > 0 && strcmp(kind, "handler") != 0) {
		printf("inside\n");
		fflush(stdout);
		_exit(3);
	}
	if (handling == 1 && strcmp(kind, "handler") == 0)
		leaf(0); /* fails again */
	bs_linux_signal(context, &regs);
	spoil(&regs);
	n = bs_unwind(&bs_linux_world, &regs, pcs, MOST, &why);
	print(pcs, n, why);
	_exit(0);
}

__attribute__((noinline)) int leaf(int *p) { return *(volatile int *)p; }

/* smash writes over its frame's end. */
__attribute__((noinline)) int smash(int n)
{
	volatile uintptr_t room[4];
	int i;

	room[0] = (uintptr_t)n;
	for (i = 0; i < words; i++)
		room[i] = strcmp(kind, "fill") == 0 ? (uintptr_t)smash + 8 : (uintptr_t)0x41414141;
	return *(volatile int *)(uintptr_t)(room[0] & 3);
}

__attribute__((noinline)) int recurse(int n)
{
	volatile char room[1000];

	room[n % 1000] = (char)n;
	return n < 0 ? 0 : recurse(n + 1) + room[n % 1000];
}

/* bare has no frame on x86: what it calls needs no aligned stack. */
__attribute__((noinline)) int bare(void) { return leaf((int *)8) + 1; }

__attribute__((noinline)) int fails(int n)
{
	if (strcmp(kind, "bare") == 0)
		return bare() + n;
	if (strcmp(kind, "overflow") == 0)
		return recurse(n) + 1;
	if (strcmp(kind, "smash") == 0 || strcmp(kind, "fill") == 0)
		return smash(n) + 1;
	return leaf((int *)8) + n;
}

__attribute__((noinline)) int compare(const void *a, const void *b) { return fails(*(const int *)a) + *(const int *)b; }

__attribute__((noinline)) int sorts(int n)
{
	int numbers[3] = {3, 2, 1};

	numbers[0] += n;
	qsort(numbers, 3, sizeof *numbers, compare);
	return numbers[0];
}

__attribute__((noinline)) int large(int n)
{
	volatile char room[70000];

	room[n] = (char)n;
	return sorts(n) + room[n];
}

/* sized has a frame of variable size. */
__attribute__((noinline)) int sized(int n)
{
	volatile char *room = alloca((size_t)n * 16 + 16);

	room[n] = (char)n;
	return large(n) + room[n];
}

/* outer asks for the backtrace itself, or fails. */
__attribute__((noinline)) int outer(int n)
{
	void *found[MOST];
	bs_word pcs[MOST];
	int i, k;

	if (strcmp(kind, "call") != 0)
		return (strcmp(kind, "chain") == 0 ? sized(n) : fails(n)) + 1;
	k = bs_frames(&bs_linux_world, 0, found, MOST);
	for (i = 0; i < k; i++)
		pcs[i] = (bs_word)(uintptr_t)found[i] - (i == 0);
	print(pcs, k, BS_ROOT);
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction action;
	stack_t stack;

	strncpy(kind, argc > 1 ? argv[1] : "call", sizeof kind - 1);
	memset(&action, 0, sizeof action);
	memset(&stack, 0, sizeof stack);
	bs_linux_refresh();
	pages = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(pages + 4096, 4096, PROT_NONE);
	stack.ss_size = 65536;
	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, 0);
	action.sa_sigaction = on;
	action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
	sigaction(SIGSEGV, &action, 0);
	sigaction(SIGBUS, &action, 0);
	return outer(argc) == 77;
}
