/* Less than a library: registers and stacks as text or as a record, for `backsight bt`. One file, dump.c, without a table.
 * docs/device.md describes both forms. */
#ifndef BACKSIGHT_DUMP_H
#define BACKSIGHT_DUMP_H

#include <stddef.h>
#include <stdint.h>

#if !defined(BS_DUMP_STACK) /* bytes of a stack at most: a record has less than a kilobyte */
#if UINTPTR_MAX > 0xffffffff
#define BS_DUMP_STACK 880
#else
#define BS_DUMP_STACK 464 /* a Cortex-M has two */
#endif
#endif

#if !defined(BS_DUMP_END)
#define BS_DUMP_END(sp) (((sp) | 1023) + 1) /* of RAM, where the linker script has no bs_ram_high: a kilobyte's end */
#endif

/* A record. Numbers are in the processor's byte order. The stack's bytes and then the other stack's are behind it. */
struct bs_record {
	uint32_t magic, sum;   /* bsR1; the CRC-32 of all behind it */
	uint16_t machine;      /* as in ELF files */
	uint8_t size, kind;    /* of a register; of BS_DUMP_TASK, BS_DUMP_MICRO */
	uint16_t stack, other; /* bytes of the stack, from the stack pointer on, and of the other stack */
	uint8_t build_size, build[20], name[15];
	uintptr_t at;   /* where the other stack is: a task's, or in a handler of Cortex-M what PSP has */
	uintptr_t r[10]; /* SP; PC; what return addresses are in; then of Cortex-M xPSR, PSP, CFSR, HFSR, DFSR, MMFAR, BFAR; of
			  * RISC-V mepc, mcause, mtval, mstatus */
};

enum { BS_DUMP_TASK = 1, BS_DUMP_MICRO = 2 }; /* a task that does not run; a Cortex-M */

/* May be defined by the linker script: where RAM begins and ends, and the note with GNU's build ID. */
extern uint8_t bs_ram_low[] __attribute__((weak)), bs_ram_high[] __attribute__((weak));
extern const uint32_t bs_build_id[] __attribute__((weak));

/* To be provided: writes a character to the console. */
void bs_put(void *context, char c);

/* bs_dump prints where it is called, also by a handler of faults: the registers, and the stack from there on. */
void bs_dump(void);

/* bs_dump_task prints the stack of a task that does not run: sp is what the kernel has saved. */
void bs_dump_task(const char *name, const void *sp);

/* bs_store is bs_dump into memory that outlives a reset, aligned for a register. It returns the record's size, at most
 * sizeof(struct bs_record) + 2 * BS_DUMP_STACK; 0 where there is no room. */
size_t bs_store(void *record, size_t size);

/* bs_print_record prints a record, if there is one. True: there was. */
int bs_print_record(const void *record);

/* What dump.c needs of a processor: its number in ELF files; the stack pointer, and the place of this very instruction. */
#if defined(__arm__)
#define BS_DUMP_MACHINE 40
#define BS_DUMP_HERE(r) __asm__ volatile("mov %0, sp\n\tmov %1, pc\n\tmov %2, lr" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]))
#elif defined(__aarch64__)
#define BS_DUMP_MACHINE 183
#define BS_DUMP_HERE(r) __asm__ volatile("mov %0, sp\n\tadr %1, .\n\tmov %2, x30" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]))
#elif defined(__riscv)
#define BS_DUMP_MACHINE 243
#define BS_DUMP_HERE(r) __asm__ volatile("mv %0, sp\n\tauipc %1, 0\n\tmv %2, ra" : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]))
#elif defined(__mips__)
#define BS_DUMP_MACHINE 8
#define BS_DUMP_HERE(r) __asm__ volatile(".set push\n\t.set noreorder\n\tmove %0, $sp\n\tbal 1f\n\tnop\n1:\tmove %1, $31\n\tmove %2, $31\n\t.set pop" \
					 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]) : : "$31")
#elif defined(__x86_64__)
#define BS_DUMP_MACHINE 62
#define BS_DUMP_HERE(r) __asm__ volatile("movq %%rsp, %0\n\tleaq 0(%%rip), %1" : "=r"(r[0]), "=r"(r[1]))
#endif

#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#define BS_DUMP_KIND BS_DUMP_MICRO
#else
#define BS_DUMP_KIND 0
#endif

#if defined(__clang__)
#define BS_DUMP_ZICSR
#else
#define BS_DUMP_ZICSR ".option arch, +zicsr\n\t" /* of which GCC 12 has no library */
#endif

#endif
