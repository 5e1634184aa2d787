/* Functions that begin with their caller's registers, whatever the compiler makes of the rest.
 *
 *     BS_ENTRY(name, to)
 *
 * is a function name(a, b, c, d) that calls to(a, b, c, d, regs): four words or fewer, and what a function finds in
 * the registers that tables name; regs->pc is where name returns to. The others of struct bs_regs are not set. */
#ifndef BACKSIGHT_ENTRY_H
#define BACKSIGHT_ENTRY_H

#include "backsight.h"

/* What an entry calls. */
#define BS_ENTERED __attribute__((visibility("hidden"), used))

BS_ENTERED int bs_frames_from(const struct bs_world *world, int skip, void **pcs, int max, struct bs_regs *regs);

#if BS_MACHINE == BS_ARM
#if defined(__thumb__)
#define BS_MODE ".thumb\n\t.thumb_func\n"
#else
#define BS_MODE ".arm\n"
#endif
/* The same instructions in all three sets; Thumb-1 stores low registers only. */
#define BS_ENTRY_CODE(name, to) \
	"sub sp, #88\n\tstr r4, [sp, #28]\n\tstr r5, [sp, #32]\n\tstr r6, [sp, #36]\n\tstr r7, [sp, #40]\n\t" \
	"mov r4, r8\n\tstr r4, [sp, #44]\n\tmov r4, r9\n\tstr r4, [sp, #48]\n\tmov r4, r10\n\tstr r4, [sp, #52]\n\t" \
	"mov r4, r11\n\tstr r4, [sp, #56]\n\tadd r4, sp, #88\n\tstr r4, [sp, #64]\n\tmov r4, lr\n\tstr r4, [sp, #84]\n\t" \
	"str r4, [sp, #8]\n\tadd r4, sp, #8\n\tstr r4, [sp]\n\tldr r4, [sp, #28]\n\tbl " to "\n\t" \
	"ldr r1, [sp, #84]\n\tadd sp, #88\n\tbx r1\n\t"
#elif BS_MACHINE == BS_MIPS
#define BS_MODE ".set push\n\t.set nomips16\n\t.set noreorder\n"
#if BS_WORD == 4
#define BS_ENTRY_CODE(name, to) \
	".cpload $25\n\taddiu $sp, $sp, -112\n\tsw $31, 104($sp)\n\tsw $31, 24($sp)\n\tsw $16, 28($sp)\n\tsw $17, 32($sp)\n\tsw $18, 36($sp)\n\t" \
	"sw $19, 40($sp)\n\tsw $20, 44($sp)\n\tsw $21, 48($sp)\n\tsw $22, 52($sp)\n\tsw $23, 56($sp)\n\t" \
	"sw $30, 84($sp)\n\taddiu $8, $sp, 112\n\tsw $8, 80($sp)\n\taddiu $8, $sp, 24\n\tsw $8, 16($sp)\n\t" \
	"la $25, " to "\n\tjalr $25\n\tnop\n\tlw $31, 104($sp)\n\tjr $31\n\taddiu $sp, $sp, 112\n\t.set pop\n\t"
#else
#define BS_ENTRY_CODE(name, to) \
	"daddiu $sp, $sp, -176\n\tsd $31, 160($sp)\n\tsd $31, 0($sp)\n\tsd $16, 8($sp)\n\tsd $17, 16($sp)\n\tsd $18, 24($sp)\n\t" \
	"sd $19, 32($sp)\n\tsd $20, 40($sp)\n\tsd $21, 48($sp)\n\tsd $22, 56($sp)\n\tsd $23, 64($sp)\n\tsd $28, 104($sp)\n\t" \
	"sd $30, 120($sp)\n\tdaddiu $8, $sp, 176\n\tsd $8, 112($sp)\n\t.cpsetup $25, 152, " name "\n\tmove $8, $sp\n\t" \
	"dla $25, " to "\n\tjalr $25\n\tnop\n\tld $31, 160($sp)\n\t.cpreturn\n\tjr $31\n\tdaddiu $sp, $sp, 176\n\t.set pop\n\t"
#endif
#elif BS_MACHINE == BS_AARCH64
#define BS_MODE
#define BS_ENTRY_CODE(name, to) \
	"sub sp, sp, #160\n\tstr x30, [sp, #152]\n\tstr x30, [sp]\n\tstp x19, x20, [sp, #32]\n\tstp x21, x22, [sp, #48]\n\t" \
	"stp x23, x24, [sp, #64]\n\tstp x25, x26, [sp, #80]\n\tstp x27, x28, [sp, #96]\n\tstr x29, [sp, #112]\n\tadd x16, sp, #160\n\t" \
	"str x16, [sp, #128]\n\tmov x4, sp\n\tbl " to "\n\tldr x30, [sp, #152]\n\tadd sp, sp, #160\n\tret\n\t"
#elif BS_MACHINE == BS_RISCV
#define BS_MODE
#if BS_WORD == 8
#define BS_S(r, n) "sd " #r ", 8 * " #n "(sp)\n\t"
#define BS_L(r, n) "ld " #r ", 8 * " #n "(sp)\n\t"
#define BS_ROOM "160"
#else
#define BS_S(r, n) "sw " #r ", 4 * " #n "(sp)\n\t"
#define BS_L(r, n) "lw " #r ", 4 * " #n "(sp)\n\t"
#define BS_ROOM "80"
#endif
#define BS_ENTRY_CODE(name, to) \
	"addi sp, sp, -" BS_ROOM "\n\t" BS_S(ra, 19) BS_S(ra, 0) BS_S(s0, 4) BS_S(s1, 5) BS_S(s2, 6) BS_S(s3, 7) BS_S(s4, 8) BS_S(s5, 9) \
	BS_S(s6, 10) BS_S(s7, 11) BS_S(s8, 12) BS_S(s9, 13) BS_S(s10, 14) BS_S(s11, 15) "addi a4, sp, " BS_ROOM "\n\t" BS_S(a4, 2) \
	"mv a4, sp\n\tcall " to "\n\t" BS_L(ra, 19) "addi sp, sp, " BS_ROOM "\n\tret\n\t"
#elif BS_MACHINE == BS_X86_64
#define BS_MODE
#define BS_ENTRY_CODE(name, to) \
	"subq $152, %rsp\n\tmovq 152(%rsp), %rax\n\tmovq %rax, (%rsp)\n\tmovq %rbx, 32(%rsp)\n\tmovq %rbp, 56(%rsp)\n\t" \
	"leaq 160(%rsp), %rax\n\tmovq %rax, 64(%rsp)\n\tmovq %r12, 104(%rsp)\n\tmovq %r13, 112(%rsp)\n\tmovq %r14, 120(%rsp)\n\t" \
	"movq %r15, 128(%rsp)\n\tmovq %rsp, %r8\n\tcall " to "\n\taddq $152, %rsp\n\tret\n\t"
#elif BS_MACHINE == BS_I386
#define BS_MODE
#define BS_ENTRY_CODE(name, to) \
	"subl $108, %esp\n\tmovl 108(%esp), %eax\n\tmovl %eax, 32(%esp)\n\tmovl %ebx, 48(%esp)\n\tmovl %ebp, 56(%esp)\n\t" \
	"movl %esi, 60(%esp)\n\tmovl %edi, 64(%esp)\n\tleal 112(%esp), %eax\n\tmovl %eax, 52(%esp)\n\tmovl 112(%esp), %eax\n\t" \
	"movl %eax, (%esp)\n\tmovl 116(%esp), %eax\n\tmovl %eax, 4(%esp)\n\tmovl 120(%esp), %eax\n\tmovl %eax, 8(%esp)\n\t" \
	"movl 124(%esp), %eax\n\tmovl %eax, 12(%esp)\n\tleal 32(%esp), %eax\n\tmovl %eax, 16(%esp)\n\tcall " to "\n\t" \
	"addl $108, %esp\n\tret\n\t"
#endif

#if defined(__APPLE__)
#define BS_ENTRY(name, to) __asm__(".text\n\t.globl _" #name "\n\t.p2align 2\n_" #name ":\n\t" BS_ENTRY_CODE("_" #name, "_" #to));
#else
#define BS_ENTRY(name, to) \
	__asm__(".pushsection .text." #name ", \"ax\", %progbits\n\t.globl " #name "\n\t.type " #name ", %function\n\t.balign 4\n\t" BS_MODE \
		#name ":\n\t" BS_ENTRY_CODE(#name, #to) ".size " #name ", . - " #name "\n\t.popsection");
#endif

#endif
