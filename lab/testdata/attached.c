// Counts what an attached debugger could disturb: attached SECONDS. A child waits in system calls of many kinds, in a thread each; its
// parent counts what wait tells of the child.
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int pipes[2], queue, semaphores;
static sem_t sem;
static sigset_t usr;

static int in_read(void) { char c; return read(pipes[0], &c, 1); }
static int in_poll(void) { struct pollfd p = {pipes[0], POLLIN, 0}; return poll(&p, 1, -1); }
static int in_select(void) { fd_set s; FD_ZERO(&s); FD_SET(pipes[0], &s); return select(pipes[0] + 1, &s, 0, 0, 0); }
static int in_epoll(void) { struct epoll_event e; return epoll_wait(queue, &e, 1, -1); }
static int in_sleep(void) { struct timespec t = {100000, 0}; return nanosleep(&t, 0); }
static int in_futex(void) { return sem_wait(&sem); }
static int in_semop(void) { struct sembuf b = {0, -1, 0}; return semop(semaphores, &b, 1); }
static int in_sigwait(void) { siginfo_t i; return sigwaitinfo(&usr, &i); }
static int in_short(void) { struct timespec t = {0, 1000000}; return nanosleep(&t, 0); }

static struct kind { const char *name; int (*call)(void); long interrupted, ended; } kinds[] = {
	{"read", in_read}, {"poll", in_poll}, {"select", in_select}, {"epoll_wait", in_epoll}, {"nanosleep", in_sleep},
	{"futex", in_futex}, {"semop", in_semop}, {"sigwaitinfo", in_sigwait}, {"nanosleep of 1 ms", in_short},
};
enum { count = sizeof kinds / sizeof *kinds };

static void *waits(void *arg)
{
	struct kind *k = arg;
	for (;;) {
		if (k->call() < 0)
			(*(errno == EINTR ? &k->interrupted : &k->ended))++;
		else if (k->call != in_short)
			k->ended++;
	}
}

static void child(void)
{
	pthread_t thread;
	struct epoll_event e = {EPOLLIN};
	sigset_t term;
	int got;
	pipe(pipes);
	queue = epoll_create1(0);
	epoll_ctl(queue, EPOLL_CTL_ADD, pipes[0], &e);
	semaphores = semget(IPC_PRIVATE, 1, 0600);
	sem_init(&sem, 0, 0);
	for (int i = 0; i < count; i++)
		pthread_create(&thread, 0, waits, &kinds[i]);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	while (sigwait(&term, &got) != 0)
		;
	for (int i = 0; i < count; i++)
		printf("%s: %ld interrupted, %ld ended\n", kinds[i].name, kinds[i].interrupted, kinds[i].ended);
	fflush(stdout);
	semctl(semaphores, 0, IPC_RMID);
	_exit(0);
}

int main(int argc, char **argv)
{
	long stops = 0, continues = 0, others = 0;
	int status;
	pid_t pid;
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGTERM);
	sigaddset(&blocked, SIGUSR1);
	usr = blocked;
	sigdelset(&usr, SIGTERM);
	sigprocmask(SIG_BLOCK, &blocked, 0);
	if ((pid = fork()) == 0)
		child();
	printf("%d\n", pid);
	fflush(stdout);
	while (waitpid(pid, &status, WUNTRACED | WCONTINUED) == pid && !WIFEXITED(status)) {
		stops += WIFSTOPPED(status);
		continues += WIFCONTINUED(status);
		others += !WIFSTOPPED(status) && !WIFCONTINUED(status);
	}
	printf("wait: %ld stops, %ld continues, %ld others, then exit status %d\n", stops, continues, others, WEXITSTATUS(status));
	return 0;
}
