// A program for a profiler: three levels of calls, a recursion, and system calls. No library, no unwind tables, no frame pointer.
static volatile int sink;

static long call(long number) {
	long result;
	__asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(0) : "rcx", "r11", "memory");
	return result;
}

__attribute__((noinline)) static int count(int n) {
	for (int i = 0; i < n; i++)
		sink += i;
	return sink;
}

__attribute__((noinline)) static int parse(int n) {
	volatile char line[100];
	for (unsigned i = 0; i < sizeof line; i++)
		line[i] = n + i;
	return count(n) + line[n % sizeof line];
}

__attribute__((noinline)) static int descend(int depth) {
	return depth == 0 ? parse(2000) : descend(depth - 1) + depth;
}

__attribute__((noinline)) static int ask(int n) {
	int sum = 0;
	for (int i = 0; i < n; i++)
		sum += call(39); // getpid
	return sum;
}

__attribute__((used, noinline)) static void run(void) {
	for (int i = 0; i < 60000; i++) {
		sink += descend(i % 4);
		sink += ask(20);
	}
	call(60);
}

__asm__(".globl _start\n_start:\n\tand $-16,%rsp\n\tcall run\n\thlt\n");
