/* A handler of crashes that reports and lets the program die as it would have. */
#ifndef BACKSIGHT_INSTALL_H
#define BACKSIGHT_INSTALL_H

/* bs_install handles SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT and SIGTRAP, on a stack of its own: the report goes to a
 * descriptor (-1: none) and behind the end of a file (0: none), which is made where there is none. Then the signal comes
 * again, as it came, to whoever handled it before: the kernel writes a core. threads: so many milliseconds are spent on what
 * all other threads do, each of which is asked by a signal, SIGRTMIN + 3; 0: none is. A fault in the handler ends the report and
 * the program. It returns 0, or -1 with errno. It calls bs_linux_refresh. */
int bs_install(int fd, const char *file, int threads);

/* bs_install_stack gives the calling thread the stack on which an overflow of its own can be reported: bs_install does so for
 * its caller, other threads call this. It returns 0, or -1 with errno. */
int bs_install_stack(void);

#endif
