/* Reads expressions, passes them through the libraries, and runs them. */
#include "machine.h"
#include "pass.h"
#include "text.h"

#if defined __x86_64__
#define BODY ".cfi_undefined rip\n\txor %ebp, %ebp\n\tand $-16, %rsp\n\tcall main\n\tmov %eax, %edi\n\tmov $231, %eax\n\tsyscall\n\thlt"
#elif defined __aarch64__
#define BODY ".cfi_undefined x30\n\tmov x29, 0\n\tmov x30, 0\n\tbl main\n\tmov x8, 94\n\tsvc 0\n\tudf 0"
#endif
__asm__(".text\n.globl _start\n.type _start, %function\n_start:\n\t.cfi_startproc\n\t" BODY "\n\t.cfi_endproc\n.size _start, .-_start");

static const char *const lines[] = {
	"a + b * (c - 12) / (d | 7) , ((a < 2) + (b > 1)) * (c & (d ^ 3))",
	"((((((((((((a + 1) * b + 2) * c + 3) { d + 4) } e + 5) ^ f + 6) & g + 7) | h + 8) - i + 9) / j + 10) = k) , l) + 11",
	"a { (b } (c + (d * (e - (f ^ (g | (h & (i < (j > (k = (l , (m + (n * (o - p))))))))))))))",
	"9 + 8 + a + (b * 2) + c + (d - e) + 7 + ((f * 3) + g) + (h / 5) + (1 + 2 * 3) + (i & 255)",
	"((a - (b + (c * (d } (e { (f | (g ^ 5))))))) < ((h , (i = (j - (k * (l + 3))))) > 2)) / (m & ((n , o) } p))",
	"(((((((((a | 1) ^ 2) & 65535) + 3) { 4000) } 5) < 1) > 1) - b) * ((c = d) , (e = (f , (g - (h * (i / (j + 1)))))))",
};

struct Line : text::Source {
	const char *at;
	explicit Line(const char *line) : at(line) {}
	char next() override { return *at ? *at++ : 0; }
};

struct Totals {
	base::Sum sum;
	tree::Scope scope;
};

static void told(pass::Pass &p, tree::Node *n, void *with)
{
	Totals &t = *(Totals *)with;
	base::print(t.sum, "%s %d %d\n", p.name(), (long)n->kind(), tree::evaluate(n, t.scope));
}

static long line(const char *l, Totals &t)
{
	Line from(l);
	tree::Node *n = text::parse(from);
	n = pass::all(n, told, &t);
	return machine::run(n, t.scope);
}

int main()
{
	Totals t;
	for (int i = 0; i < 16; i++)
		t.scope.of[i] = 3 * i + 1;
	t.scope.steps = 0;
	long sum = 0;
	for (const char *l : lines)
		sum ^= line(l, t);
	return (int)((unsigned long)sum ^ t.sum.sum) & 127;
}
