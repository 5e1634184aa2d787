package livecore

// Kind is a way to crash.
type Kind struct {
	// Name is for people; Code is report.Crash's kind.
	Name, Code string
	// Body is the function work, which dies; it is called by outer, and that by main.
	Body string
	// Flags are the compiler's, beside those of all kinds.
	Flags []string
}

// Source is the program that crashes in this way.
func (k *Kind) Source() string {
	return prologue + k.Body + epilogue
}

const prologue = `
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define NOINLINE __attribute__((noinline, noclone))
struct node { long id; struct node *next; };
static const char banner[] = "read only";
static unsigned char table[64] = {0xc3};
static volatile long sink;
`

const epilogue = `
NOINLINE int outer(int argc, char **argv) { int n = work(argc, argv); sink = n; return n + 1; }
int main(int argc, char **argv) { int n = outer(argc, argv); sink = n; return n; }
`

// Kinds are ten ways to crash.
func Kinds() []Kind {
	return []Kind{
		{Name: "NULL read", Code: "null-pointer",
			Body: `NOINLINE int work(int argc, char **argv) { struct node *volatile n = 0; return (int)n->next->id + argc; }`},
		{Name: "NULL call", Code: "null-call",
			Body: `NOINLINE int work(int argc, char **argv) { int (*volatile f)(int) = 0; return f(argc) + 1; }`},
		{Name: "write to .rodata", Code: "write-to-read-only",
			Body: `NOINLINE int work(int argc, char **argv) { char *volatile p = (char *)banner; p[argc] = 'x'; return p[0]; }`},
		{Name: "execute of data", Code: "execute-of-data",
			Body: `NOINLINE int work(int argc, char **argv) { int (*volatile f)(int) = (int (*)(int))(void *)table; return f(argc) + 1; }`},
		{Name: "stack overflow by recursion", Code: "stack-overflow",
			Body: `NOINLINE int work(int argc, char **argv) { volatile char pad[512]; pad[argc & 511] = 1; return work(argc + 1, argv) + pad[0]; }`},
		{Name: "smashed return", Code: "smashed-return", Flags: []string{"-fno-stack-protector", "-U_FORTIFY_SOURCE"},
			Body: `NOINLINE int work(int argc, char **argv) { char name[16]; void *(*volatile fill)(void *, int, size_t) = memset; fill(name, 'A', 64); return name[argc & 15]; }`},
		{Name: "abort", Code: "abort",
			Body: `NOINLINE int work(int argc, char **argv) { if (argc > 0) abort(); return argc; }`},
		{Name: "kill from outside", Code: "killed",
			Body: `NOINLINE int work(int argc, char **argv) { if (fork() == 0) { kill(getppid(), SIGQUIT); _exit(0); } while (pause()) ; return argc; }`},
		{Name: "division by zero", Code: "division-by-zero",
			Body: `NOINLINE int work(int argc, char **argv) { volatile int none = argc - argc; return argc / none; }`},
		{Name: "misaligned", Code: "misaligned", Flags: []string{"-msse2"},
			Body: `#include <emmintrin.h>
NOINLINE int work(int argc, char **argv) { char *volatile p = (char *)table + 1; volatile __m128i v = _mm_load_si128((__m128i *)p); return (int)v[0] + argc; }`},
	}
}
