/* A machine for byte code: a large switch, computed jumps, tables of functions, setjmp. */
#include "lab.h"
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

enum { PUSH, ADD, MUL, JNZ, DUP, DEC, CALL, RET, PRINT, HALT, TRAP };
struct vm { long stack[64]; int sp, pc, frames[16], fp; jmp_buf out; };
typedef int (*native)(struct vm *, int);
static NOINLINE void fail(struct vm *m, const char *why) { fprintf(stderr, "%s\n", why); longjmp(m->out, 1); }
static NOINLINE void push(struct vm *m, long v) { if (m->sp >= 64) fail(m, "full"); m->stack[m->sp++] = v; }
static NOINLINE long pop(struct vm *m) { if (m->sp <= 0) fail(m, "empty"); return m->stack[--m->sp]; }
static int squared(struct vm *m, int n) { long v = pop(m); push(m, v * v); return n; }
static int summed(struct vm *m, int n) { char b[40]; fill(b, 40, n); push(m, pop(m) + pop(m)); return b[3]; }
static int shown(struct vm *m, int n) { return printf("%ld %d\n", m->stack[m->sp - 1], n); }
static const native natives[] = {squared, summed, shown};
static NOINLINE long run(struct vm *m, const unsigned char *code) {
	if (setjmp(m->out)) return -1;
	for (;;) {
		switch (code[m->pc++]) {
		case PUSH: push(m, code[m->pc++]); break;
		case ADD: push(m, pop(m) + pop(m)); break;
		case MUL: push(m, pop(m) * pop(m)); break;
		case JNZ: if (pop(m)) m->pc = code[m->pc]; else m->pc++; break;
		case DUP: { long v = pop(m); push(m, v); push(m, v); break; }
		case DEC: push(m, pop(m) - 1); break;
		case CALL: natives[code[m->pc++] % 3](m, m->sp); break;
		case RET: m->pc = m->frames[--m->fp & 15]; break;
		case PRINT: printf("%ld\n", m->stack[m->sp - 1]); break;
		case HALT: return pop(m);
		default: fail(m, "trap");
		}
	}
}
static NOINLINE long fast(const unsigned char *code, long v) {
	static const void *const to[] = {&&add, &&twice, &&call, &&end};
	goto *to[*code++ & 3];
add: v += *code++; goto *to[*code++ & 3];
twice: v *= 2; goto *to[*code++ & 3];
call: fill(&v, 1, (int)v); goto *to[*code++ & 3];
end: return v;
}
int main(void) {
	static const unsigned char code[] = {PUSH, 5, DUP, CALL, 0, PRINT, ADD, CALL, 2, HALT}, small[] = {0, 4, 1, 2, 3};
	struct vm m = {.pc = 0};
	sink = (int)run(&m, code) + (int)fast(small, sink);
	return 0;
}
