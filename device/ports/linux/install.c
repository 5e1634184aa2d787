#define _GNU_SOURCE
#include "install.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "report.h"

enum { STACK = 1 << 16, GUARD = 1 << 16, SIGNALS = 6, NANOSECONDS = 1000000 };
#define ASK (SIGRTMIN + 3) /* emulators lack the last ones */

static const int numbers[SIGNALS] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP};

static struct {
	int fd, threads;
	char file[256];
	struct sigaction before[SIGNALS];
} settings;

/* The thread that crashed first; that which is asked now, negative while it answers, 0 afterwards; what it writes to. */
static pid_t crashed, asked;
static struct bs_line *answer;

static pid_t self(void) { return (pid_t)syscall(SYS_gettid); }

static void sleep_one(void)
{
	struct timespec t = {0, NANOSECONDS};
	nanosleep(&t, 0);
}

static long long milliseconds(void)
{
	struct timespec t = {0, 0};
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (long long)t.tv_sec * 1000 + t.tv_nsec / NANOSECONDS;
}

/* field writes a name and a number. */
static void field(struct bs_line *l, const char *name, bs_word v, unsigned base)
{
	bs_line_text(l, name);
	bs_line_number(l, v, base, 1);
}

/* on_asked is of the signal to each of the other threads. */
static void on_asked(int number, siginfo_t *info, void *context)
{
	pid_t me = self(), expected = me;
	int before = errno;
	char name[17] = "";

	(void)number, (void)info;
	if (!__atomic_compare_exchange_n(&asked, &expected, -me, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return;
	prctl(PR_GET_NAME, name);
	bs_line_text(answer, "task: ");
	bs_line_text(answer, name);
	field(answer, " ", (bs_word)me, 10);
	bs_line_text(answer, "\n");
	bs_report_frames(answer, context);
	__atomic_store_n(&asked, 0, __ATOMIC_RELEASE);
	errno = before;
}

/* ask lets a thread write its frames; false: it has begun, and does not come to an end. */
static int ask(struct bs_line *l, pid_t thread, long long deadline)
{
	enum { EACH = 100, LONGER = 500 };
	pid_t expected = thread;

	if (deadline > milliseconds() + EACH)
		deadline = milliseconds() + EACH;
	answer = l;
	__atomic_store_n(&asked, thread, __ATOMIC_RELEASE);
	if (syscall(SYS_tgkill, getpid(), thread, ASK) != 0)
		return 1;
	while (__atomic_load_n(&asked, __ATOMIC_ACQUIRE) != 0 && milliseconds() < deadline)
		sleep_one();
	if (__atomic_compare_exchange_n(&asked, &expected, 0, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		field(l, "task: ", (bs_word)thread, 10);
		bs_line_text(l, " does not answer\n");
		bs_line_flush(l);
		return 1;
	}
	for (deadline += LONGER; __atomic_load_n(&asked, __ATOMIC_ACQUIRE) != 0 && milliseconds() < deadline;)
		sleep_one();
	return __atomic_load_n(&asked, __ATOMIC_ACQUIRE) == 0;
}

/* number_in is the number that a name is, 0 for another name. */
static pid_t number_in(const char *s)
{
	pid_t n = 0;

	for (; *s >= '0' && *s <= '9' && n < 1 << 24; s++)
		n = n * 10 + (*s - '0');
	return *s ? 0 : n;
}

/* ask_all asks the threads that /proc lists, of whose entries the kernel says: inode 8, offset 8, length 2, kind 1, name. */
static void ask_all(struct bs_line *l)
{
	enum { LENGTH = 16, NAME = 19 };
	uint64_t room[128];
	long long deadline = milliseconds() + settings.threads;
	struct sigaction action;
	long size, at;
	int directory = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	memset(&action, 0, sizeof action);
	action.sa_sigaction = on_asked;
	action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	sigaction(ASK, &action, 0);
	while (directory >= 0 && (size = syscall(SYS_getdents64, directory, room, sizeof room)) > 0)
		for (at = 0; at < size;) {
			const char *entry = (const char *)room + at;
			uint16_t length;
			pid_t thread = number_in(entry + NAME);
			memcpy(&length, entry + LENGTH, sizeof length);
			at += length;
			if (thread != 0 && thread != crashed && !ask(l, thread, deadline))
				return;
		}
	close(directory);
}

/* Refreshing the list of modules waits for the loader's lock, whose owner may wait for what the crash has left locked: after a second
 * the list stays as it was. The lock is not needed any more. */
static sigjmp_buf late;

static void on_late(int number)
{
	if (self() == crashed)
		siglongjmp(late, 1);
	syscall(SYS_tgkill, getpid(), crashed, number);
}

static void refresh(void)
{
	struct sigaction action;
	sigset_t set;

	memset(&action, 0, sizeof action);
	action.sa_handler = on_late;
	sigaction(SIGALRM, &action, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	if (sigsetjmp(late, 1) == 0) {
		sigprocmask(SIG_UNBLOCK, &set, 0);
		alarm(1);
		bs_linux_refresh();
	}
	sigprocmask(SIG_BLOCK, &set, 0);
	alarm(0);
}

static void report(struct bs_line *l, const siginfo_t *info, const void *context)
{
	enum bs_stop why;
	char name[17] = "";

	bs_report_begin(l);
	field(l, "signal: ", (bs_word)info->si_signo, 10);
	if (info->si_code > 0)
		field(l, " code: ", (bs_word)info->si_code, 10);
	if (info->si_code > 0 && info->si_signo != SIGABRT)
		field(l, " address: 0x", (bs_word)(uintptr_t)info->si_addr, 16);
	bs_line_text(l, "\n");
	bs_report_registers(l, context);
	refresh();
	why = bs_report_frames(l, context);
	prctl(PR_GET_NAME, name);
	bs_line_text(l, "thread: ");
	bs_line_text(l, name);
	field(l, " ", (bs_word)crashed, 10);
	bs_line_text(l, "\n");
	if (settings.threads > 0)
		ask_all(l);
	bs_report_end(l, why);
}

/* again lets the signal come once more, as it came, behind the handler: the process dies where it crashed. */
static void again(int number, siginfo_t *info)
{
	sigset_t set;
	int i;

	for (i = 0; i < SIGNALS; i++)
		sigaction(numbers[i], &settings.before[i], 0);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_BLOCK, &set, 0);
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), self(), number, info) != 0)
		syscall(SYS_tgkill, getpid(), self(), number);
}

#if defined(__x86_64__)
__attribute__((force_align_arg_pointer))
#endif
static void on_crash(int number, siginfo_t *info, void *context)
{
	struct bs_line l = {.fd = settings.fd, .file = -1};
	pid_t me = self(), first = 0;
	int before = errno;

	if (!__atomic_compare_exchange_n(&crashed, &first, me, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) && first != me)
		for (;;) /* the other one ends the process */
			pause();
	if (settings.file[0])
		l.file = open(settings.file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (first == 0)
		report(&l, info, context);
	else {
		bs_line_text(&l, "backsight: a fault in the report\n");
		bs_line_flush(&l);
	}
	if (l.file >= 0)
		close(l.file);
	again(number, info);
	errno = before;
}

int bs_install_stack(void)
{
	stack_t stack;

	memset(&stack, 0, sizeof stack);
	stack.ss_size = STACK;
	stack.ss_sp = mmap(0, GUARD + STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack.ss_sp == MAP_FAILED)
		return -1;
	stack.ss_sp = (char *)stack.ss_sp + GUARD;
	if (mprotect(stack.ss_sp, STACK, PROT_READ | PROT_WRITE) != 0)
		return -1;
	return sigaltstack(&stack, 0);
}

int bs_install(int fd, const char *file, int threads)
{
	struct sigaction action;
	size_t n = file ? strlen(file) : 0;
	int i;

	if (n >= sizeof settings.file) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (bs_install_stack() != 0)
		return -1;
	bs_linux_refresh();
	settings.fd = fd;
	settings.threads = threads;
	memcpy(settings.file, file ? file : "", n + 1);
	memset(&action, 0, sizeof action);
	sigfillset(&action.sa_mask);
	action.sa_sigaction = on_crash;
	action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
	for (i = 0; i < SIGNALS; i++)
		sigdelset(&action.sa_mask, numbers[i]);
	for (i = 0; i < SIGNALS; i++)
		if (sigaction(numbers[i], &action, &settings.before[i]) != 0)
			return -1;
	return 0;
}
