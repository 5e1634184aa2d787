/* What compilers do not write: assembly in the middle of a chain, without call frame information and with frames of its own kinds; a signal on
 * another stack; a longjmp out of a handler; a function pointer table of tail calls; dynamic frames within loops. */
#include "lab.h"
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>

typedef int (*op)(int);
/* framed(f, a) calls f(a) from a frame with room below it, pushed(f, a) from one with saved registers only. */
int framed(op f, int a);
int pushed(op f, int a);

#if defined __x86_64__
__asm__(".text\n.globl framed\n.type framed,@function\nframed: push %rbx\n mov %rdi,%rbx\n sub $0x230,%rsp\n mov %esi,%edi\n call *%rbx\n"
	" lea 1(%rax),%eax\n add $0x230,%rsp\n pop %rbx\n ret\n.size framed,.-framed\n"
	".globl pushed\n.type pushed,@function\npushed: push %rbp\n push %r12\n push %r13\n mov %rdi,%r12\n mov %esi,%edi\n call *%r12\n"
	" pop %r13\n pop %r12\n pop %rbp\n ret\n.size pushed,.-pushed\n");
#elif defined __i386__
__asm__(".text\n.globl framed\n.type framed,@function\nframed: push %ebx\n sub $0x118,%esp\n mov 0x120(%esp),%ebx\n mov 0x124(%esp),%eax\n mov %eax,(%esp)\n"
	" call *%ebx\n inc %eax\n add $0x118,%esp\n pop %ebx\n ret\n.size framed,.-framed\n"
	".globl pushed\n.type pushed,@function\npushed: push %esi\n push %edi\n mov 12(%esp),%esi\n push 16(%esp)\n call *%esi\n pop %edx\n pop %edi\n pop %esi\n"
	" ret\n.size pushed,.-pushed\n");
#elif defined __aarch64__
__asm__(".text\n.globl framed\n.type framed,%function\nframed: sub sp,sp,#0x210\n str x30,[sp,#0x200]\n mov x9,x0\n mov w0,w1\n blr x9\n add w0,w0,#1\n"
	" ldr x30,[sp,#0x200]\n add sp,sp,#0x210\n ret\n.size framed,.-framed\n"
	".globl pushed\n.type pushed,%function\npushed: stp x19,x30,[sp,#-32]!\n mov x19,x0\n mov w0,w1\n blr x19\n ldp x19,x30,[sp],#32\n ret\n.size pushed,.-pushed\n");
#elif defined __arm__
__asm__(".text\n.syntax unified\n.arm\n.globl framed\n.type framed,%function\nframed: push {r4,lr}\n sub sp,sp,#0x208\n mov r4,r0\n mov r0,r1\n blx r4\n add r0,r0,#1\n"
	" add sp,sp,#0x208\n pop {r4,pc}\n.size framed,.-framed\n"
	".globl pushed\n.type pushed,%function\npushed: push {r4,r5,r6,lr}\n mov r4,r0\n mov r0,r1\n blx r4\n ldm sp!,{r4,r5,r6,lr}\n bx lr\n.size pushed,.-pushed\n"
#ifdef __thumb__
	".thumb\n"
#endif
);
#elif defined __riscv
__asm__(".text\n.globl framed\n.type framed,@function\nframed: addi sp,sp,-560\n sd ra,544(sp)\n mv t1,a0\n mv a0,a1\n jalr t1\n addiw a0,a0,1\n"
	" ld ra,544(sp)\n addi sp,sp,560\n ret\n.size framed,.-framed\n"
	".globl pushed\n.type pushed,@function\npushed: addi sp,sp,-32\n sd s1,8(sp)\n sd ra,16(sp)\n mv s1,a0\n mv a0,a1\n jalr s1\n"
	" ld ra,16(sp)\n ld s1,8(sp)\n addi sp,sp,32\n ret\n.size pushed,.-pushed\n");
#elif defined __mips__
#if _MIPS_SIM == _ABIO32
#define W "sw "
#define R "lw "
#define A "addiu "
#else
#define W "sd "
#define R "ld "
#define A "daddiu "
#endif
__asm__(".text\n.set push\n.set nomips16\n.set noreorder\n.globl framed\n.type framed,@function\n.ent framed\nframed: " A "$sp,$sp,-544\n " W "$31,536($sp)\n move $25,$4\n"
	" jalr $25\n move $4,$5\n addiu $2,$2,1\n " R "$31,536($sp)\n jr $31\n " A "$sp,$sp,544\n.end framed\n.size framed,.-framed\n"
	".globl pushed\n.type pushed,@function\n.ent pushed\npushed: " A "$sp,$sp,-48\n " W "$16,32($sp)\n " W "$31,40($sp)\n move $16,$5\n move $25,$4\n jalr $25\n"
	" move $4,$16\n " R "$16,32($sp)\n " R "$31,40($sp)\n jr $31\n " A "$sp,$sp,48\n.end pushed\n.size pushed,.-pushed\n.set pop\n");
#endif

NOINLINE int inner(int a) { char b[24]; fill(b, 24, a); return b[1] + sink; }
NOINLINE int again(int a) { return pushed(inner, a + 1) * 2; }
NOINLINE int nested(int a) { char b[40]; fill(b, 40, a); return framed(again, a) + b[1]; }

static const op ops[] = {inner, again, nested};
NOINLINE int jumps(int k, int a) { return ops[k % 3](a + 1); }
NOINLINE int grows(int n) { int s = 0; for (int i = 1; i < n; i++) { char *p = alloca(i * 40); fill(p, i * 40, i); s += inner(p[0]); } return s; }

static char other[32768];
static sigjmp_buf back;
void on_other(int n, siginfo_t *i, void *c) { (void)i; (void)c; sink += inner(n) + pushed(inner, n); }
void leaves(int n) { if (inner(n) != 12345) siglongjmp(back, 1); }
static void install(int n, void (*f)(int, siginfo_t *, void *), int flags) {
	struct sigaction sa;
	memset(&sa, 0, sizeof sa);
	sa.sa_sigaction = f;
	sa.sa_flags = SA_SIGINFO | flags;
	sigaction(n, &sa, 0);
}
NOINLINE int elsewhere(int a) { int x = inner(a); raise(SIGUSR1); return x + inner(a + 1); }
NOINLINE int escapes(int a) { volatile int x = a; if (sigsetjmp(back, 1) == 0) { raise(SIGUSR2); x = 1; } return inner(x); }

int main(void) {
	stack_t st = {.ss_sp = other, .ss_size = sizeof other};
	sink += framed(inner, 2) + pushed(again, 3) + nested(4) + jumps(1, 2) + jumps(2, 3) + grows(4);
	sigaltstack(&st, 0);
	install(SIGUSR1, on_other, SA_ONSTACK);
	signal(SIGUSR2, leaves);
	sink += elsewhere(2) + escapes(3) + elsewhere(5);
	return sink == 12345;
}
