// kexec.c KERNEL INITRAMFS COMMAND_LINE: has the kernel that runs load one that it starts when it crashes.
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const unsigned long on_crash = 2; // KEXEC_FILE_ON_CRASH, include/uapi/linux/kexec.h
	if (argc != 4)
		return 64;
	int kernel = open(argv[1], O_RDONLY), initramfs = open(argv[2], O_RDONLY);
	if (syscall(SYS_kexec_file_load, kernel, initramfs, strlen(argv[3]) + 1, argv[3], on_crash)) {
		perror("kexec_file_load");
		return 1;
	}
	return 0;
}
