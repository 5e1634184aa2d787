// Sixty functions, each with a frame of its own, that call one another down to leaf.

#define NOINLINE __attribute__((noinline, noclone))

extern volatile int sink;
volatile int sink;

static NOINLINE void touch(void *p) { __asm__ volatile("" : : "r"(p) : "memory"); }

NOINLINE int leaf(int x) { return sink + x; }

// FRAME has size bytes of locals; KEEP values live across the call, in s registers.
#define FRAME(name, next, size) \
	NOINLINE int name(int x) { char b[size]; touch(b); int y = next(x + size); touch(b); return y + size; }
#define KEEP(name, next, values) \
	NOINLINE int name(int x) { int a = sink, b = sink, c = sink, d = sink, y = next(x); return y + values; }

#define FIVE(n, m, size) \
	FRAME(f##n##4, m, size) KEEP(f##n##3, f##n##4, a) FRAME(f##n##2, f##n##3, size * 3 + 8) \
	KEEP(f##n##1, f##n##2, a * b + c * d) KEEP(f##n##0, f##n##1, a + b)

FIVE(b, leaf, 16)
FIVE(a, fb0, 40)
FIVE(9, fa0, 72)
FIVE(8, f90, 136)
FIVE(7, f80, 24)
FIVE(6, f70, 264)
FIVE(5, f60, 32)
FIVE(4, f50, 520)
FIVE(3, f40, 48)
FIVE(2, f30, 96)
FIVE(1, f20, 64)
FIVE(0, f10, 20)

void start(void)
{
	sink = f00(sink) + 1;
	for (;;)
		__asm__ volatile("break");
}

__asm__(".globl __start\n.type __start,@function\n__start:\n\tmove $ra,$zero\n\tjal start\n\tnop\n.size __start,.-__start\n");
