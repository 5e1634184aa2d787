/* A tool without a C library. Each function has another shape of frame; the
 * binary has no symbols, no unwind tables and no frame pointers. */
#define noinline __attribute__((noinline, noclone))

volatile int sink;
static int table_ready;
typedef int (*op)(const unsigned char *p, int n);

/* A leaf without a frame. */
static noinline int checksum(const unsigned char *p, int n)
{
	int s = 0;
	for (int i = 0; i < n; i++)
		s = s * 31 + p[i];
	return s;
}

/* The frame is as large as the argument says. */
static noinline int block(const unsigned char *p, int n)
{
	unsigned char *copy = __builtin_alloca(n);
	for (int i = 0; i < n; i++)
		copy[i] = p[i] ^ 0x55;
	sink = copy[n - 1];
	return checksum(copy, n) + sink;
}

/* A frame beyond what one instruction can add to SP. */
static noinline int window(const unsigned char *p, int n)
{
	unsigned char history[40000];
	for (int i = 0; i < 40000; i += 128)
		history[i] = n;
	sink = history[n];
	return block(p, n) + block(history, 8) + sink;
}

/* Returns early without a frame; GCC allocates it after the test. */
static noinline int cached(const unsigned char *p, int n)
{
	if (table_ready)
		return n;
	int a = window(p, n);
	int b = window(p + 1, n - 1);
	table_ready = a != b;
	return a * b;
}

/* A tail call: this function is in no chain. */
static noinline int forward(const unsigned char *p, int n)
{
	sink = n;
	return cached(p, n);
}

static const op ops[] = {checksum, forward, block};

static noinline int dispatch(int kind, const unsigned char *p, int n)
{
	int r = ops[kind](p, n);
	sink += r;
	return r;
}

static noinline int split(const unsigned char *p, int n, int depth)
{
	if (depth == 0)
		return dispatch(1, p, n);
	int left = split(p, n / 2 + 8, depth - 1);
	return left + dispatch(0, p, n / 2);
}

static noinline _Noreturn void finish(int code)
{
	register int v0 __asm__("$2") = 4001; /* exit */
	register int a0 __asm__("$4") = code;
	for (;;)
		__asm__ volatile("syscall" : : "r"(v0), "r"(a0) : "memory");
}

/* Ends in a call that does not return. */
noinline _Noreturn void start(void)
{
	static const unsigned char text[64] = "the quick brown fox jumps over the lazy dog";
	finish(split(text, 32, 3) & 1);
}

/* The kernel enters here; RA is cleared, as in every C library. */
__asm__(".globl __start\n"
	".ent __start\n"
	"__start: .set noreorder\n"
	"move $31, $0\n"
	"jal start\n"
	"nop\n"
	".set reorder\n"
	".end __start\n");
