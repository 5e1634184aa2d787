/* Runs a program for macOS on x86-64 Linux that calls no system: maps its segments where they are
   linked plus a slide, starts it on a stack of its own, and writes a Mach-O core when it faults:
   run PROGRAM CORE. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_SIZE = 0x4000, SLIDE = 0x4a70000, PAGE = 0x1000 };
static const uint64_t stack_at = 0x7ff7bfe00000;

struct header { uint32_t magic, cpu, subtype, type, count, size, flags, reserved; };
struct segment {
	uint32_t cmd, cmdsize;
	char name[16];
	uint64_t addr, size, off, filesize;
	uint32_t maxprot, prot, sections, flags;
};
/* LC_THREAD with x86_THREAD_STATE64 and x86_EXCEPTION_STATE64. */
struct thread {
	uint32_t cmd, cmdsize, flavor, count;
	uint64_t regs[21];
	uint32_t flavor2, count2, trapno, err;
	uint64_t address;
};

static struct segment segments[8];
static int count;
static const char *core;

static void put(FILE *f, const void *p, size_t n)
{
	if (fwrite(p, 1, n, f) != n)
		_exit(1);
}

static void fault(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	static const int order[21] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RDI, REG_RSI, REG_RBP, REG_RSP, REG_R8, REG_R9, REG_R10,
		REG_R11, REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP, REG_EFL, -1, -1, -1};
	ucontext_t *u = context;
	struct thread t = {0x4, sizeof t, 4, 42, {0}, 6, 4, 14, 4, (uint64_t)info->si_addr};
	for (int i = 0; i < 18; i++)
		t.regs[i] = u->uc_mcontext.gregs[order[i]];
	struct header h = {0xfeedfacf, 0x01000007, 3, 4, count + 1, count * sizeof segments[0] + sizeof t, 0, 0};
	FILE *f = fopen(core, "wb");
	if (!f)
		_exit(1);
	put(f, &h, sizeof h);
	uint64_t off = PAGE;
	for (int i = 0; i < count; i++) {
		struct segment s = segments[i];
		s.off = off, s.filesize = s.size, off += s.size;
		put(f, &s, sizeof s);
	}
	put(f, &t, sizeof t);
	fseek(f, PAGE, SEEK_SET);
	for (int i = 0; i < count; i++)
		put(f, (void *)segments[i].addr, segments[i].size);
	fclose(f);
	_exit(0);
}

int main(int argc, char **argv)
{
	static char file[1 << 20], handler_stack[1 << 16];
	if (argc != 3)
		return 64;
	core = argv[2];
	FILE *f = fopen(argv[1], "rb");
	if (!f || fread(file, 1, sizeof file, f) == 0)
		return 1;
	struct header *h = (void *)file;
	uint64_t entry = 0, base = 0;
	char *c = file + sizeof *h;
	for (uint32_t i = 0; i < h->count; i++, c += ((uint32_t *)c)[1]) {
		struct segment *s = (void *)c;
		if (s->cmd == 0x80000028) /* LC_MAIN */
			entry = *(uint64_t *)(c + 8);
		if (s->cmd != 0x19 || s->prot == 0)
			continue;
		if (!strcmp(s->name, "__TEXT"))
			base = s->addr + SLIDE;
		struct segment m = {0x19, sizeof m, "", s->addr + SLIDE, s->size, 0, 0, s->prot, s->prot, 0, 0};
		void *at = mmap((void *)m.addr, m.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
		if (at == MAP_FAILED)
			return 1;
		memcpy(at, file + s->off, s->filesize);
		mprotect(at, m.size, s->prot & 7);
		segments[count++] = m;
	}
	segments[count++] = (struct segment){0x19, sizeof *segments, "", stack_at, STACK_SIZE, 0, 0, 3, 3, 0, 0};
	if (mmap((void *)stack_at, STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		return 1;
	sigaltstack(&(stack_t){.ss_sp = handler_stack, .ss_size = sizeof handler_stack}, 0);
	struct sigaction sa = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
	sigaction(SIGSEGV, &sa, 0);
	__asm__ volatile("movq %0, %%rsp\n\tjmpq *%1" : : "r"(stack_at + STACK_SIZE - 256), "r"(base + entry));
	return 1;
}
