// Runs a command and adds a line to /peak: how much memory it had at most, in kB.
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage use;
	FILE *f;
	int status;
	pid_t pid = argc > 1 ? fork() : -1;
	if (pid == 0) {
		execv(argv[1], argv + 1);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &use) != pid || (f = fopen("/peak", "a")) == NULL)
		return 1;
	fprintf(f, "%ld\n", use.ru_maxrss);
	return fclose(f);
}
