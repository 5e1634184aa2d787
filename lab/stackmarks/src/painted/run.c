// Paints a stack, runs work() on it and prints how many bytes of the stack were written: no C library, one system call.
#include "stack.h"
volatile int sink = 3; volatile char *vp;
#define SIZE (96*1024)
static unsigned char stack[SIZE] __attribute__((aligned(64)));
#if defined(__x86_64__)
static word sys(word n, word a, word b, word c) { word r; asm volatile("syscall":"=a"(r):"a"(n),"D"(a),"S"(b),"d"(c):"rcx","r11","memory"); return r; }
#define WRITE 1
#define EXIT 60
#elif defined(__aarch64__)
static word sys(word n, word a, word b, word c) { register word x8 asm("x8")=n,x0 asm("x0")=a,x1 asm("x1")=b,x2 asm("x2")=c; asm volatile("svc 0":"+r"(x0):"r"(x8),"r"(x1),"r"(x2):"memory"); return x0; }
#define WRITE 64
#define EXIT 93
#elif defined(__arm__)
static word sys(word n, word a, word b, word c) { register word r7 asm("r7")=n,x0 asm("r0")=a,x1 asm("r1")=b,x2 asm("r2")=c; asm volatile("svc 0":"+r"(x0):"r"(r7),"r"(x1),"r"(x2):"memory"); return x0; }
#define WRITE 4
#define EXIT 1
#elif defined(__mips__)
static word sys(word n, word a, word b, word c) { register word v asm("v0")=n,x0 asm("a0")=a,x1 asm("a1")=b,x2 asm("a2")=c; asm volatile("syscall":"+r"(v):"r"(x0),"r"(x1),"r"(x2):"memory","a3","t0","t1","t2","t3","t4","t5","t6","t7","t8","t9","at"); return v; }
#define WRITE 4004
#define EXIT 4001
#else
static word sys(word n, word a, word b, word c) { register word x8 asm("a7")=n,x0 asm("a0")=a,x1 asm("a1")=b,x2 asm("a2")=c; asm volatile("ecall":"+r"(x0):"r"(x8),"r"(x1),"r"(x2):"memory"); return x0; }
#define WRITE 64
#define EXIT 93
#endif
static void on(void *top) {
#if defined(__x86_64__)
 asm volatile("mov %%rsp,%%rbx; mov %0,%%rsp; mov $5,%%edi; call work; mov %%rbx,%%rsp"::"r"(top):"rbx","rax","rcx","rdx","rsi","rdi","r8","r9","r10","r11","memory");
#elif defined(__aarch64__)
 asm volatile("mov x19,sp; mov sp,%0; mov x0,#5; bl work; mov sp,x19"::"r"(top):"x0","x1","x2","x3","x4","x5","x6","x7","x8","x9","x10","x11","x12","x13","x14","x15","x16","x17","x18","x19","x30","memory");
#elif defined(__arm__)
 asm volatile("mov r4,sp; mov sp,%0; mov r0,#5; bl work; mov sp,r4"::"r"(top):"r0","r1","r2","r3","r4","r12","lr","memory");
#elif defined(__mips__)
 asm volatile(".set noreorder; move $16,$29; move $29,%0; li $4,5; jal work; nop; move $29,$16; .set reorder"::"r"((char*)top-16):"$16","v0","v1","a0","a1","a2","a3","t0","t1","t2","t3","t4","t5","t6","t7","t8","t9","ra","memory");
#else
 asm volatile("mv s1,sp; mv sp,%0; li a0,5; call work; mv sp,s1"::"r"(top):"s1","ra","a0","a1","a2","a3","a4","a5","a6","a7","t0","t1","t2","t3","t4","t5","t6","memory");
#endif
}
void *memset(void *p, int c, unsigned long n) { char *q = p; while (n--) { *q++ = c; asm volatile(""); } return p; }
void *memcpy(void *d, const void *s, unsigned long n) { char *q = d; const char *r = s; while (n--) { *q++ = *r++; asm volatile(""); } return d; }
int raise(int n) { sys(EXIT, n, 0, 0); return 0; } // libgcc for ARM wants it: a division by 0
void cstart(void) {
 for (int i = 0; i < SIZE; i++) { stack[i] = 0xa5; asm volatile("":::"memory"); }
 char *top = (char *)stack + SIZE;
 on(top);
#ifdef __mips__
 top -= 16;
#endif
 int i = 0; while (i < SIZE && stack[i] == 0xa5) i++;
 int used = top - (char *)(stack + i);
 char buf[16]; int k = 16; buf[--k] = '\n'; do { buf[--k] = '0' + used % 10; used /= 10; } while (used);
 sys(WRITE, 1, (word)(buf + k), 16 - k); sys(EXIT, 0, 0, 0);
}
#if defined(__x86_64__)
asm(".globl _start; _start: and $-16,%rsp; call cstart");
#elif defined(__aarch64__)
asm(".globl _start; _start: bl cstart");
#elif defined(__arm__)
asm(".globl _start; .type _start,%function; _start: bl cstart");
#elif defined(__mips__)
asm(".globl _start; .globl __start; .ent _start; __start: _start: addiu $29,$29,-32; jal cstart; nop; .end _start");
#else
asm(".globl _start; _start: call cstart");
#endif
