#define _GNU_SOURCE
#include "cpu.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define O32 "zero at v0 v1 a0 a1 a2 a3 t0 t1 t2 t3 t4 t5 t6 t7 s0 s1 s2 s3 s4 s5 s6 s7 t8 t9 k0 k1 gp sp s8 ra"
#define N64 "zero at v0 v1 a0 a1 a2 a3 a4 a5 a6 a7 t0 t1 t2 t3 s0 s1 s2 s3 s4 s5 s6 s7 t8 t9 k0 k1 gp sp s8 ra"
#define ARM "r0 r1 r2 r3 r4 r5 r6 r7 r8 r9 r10 r11 r12 sp lr - - - - - - - - - - cpsr"
#define A64 "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15 x16 x17 x18 x19 x20 x21 x22 x23 x24 x25 x26 x27 x28 x29 x30 sp - cpsr"
#define RV "zero ra sp gp tp t0 t1 t2 s0 s1 a0 a1 a2 a3 a4 a5 a6 a7 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 t3 t4 t5 t6"
#define X32 "eax ecx edx ebx esp ebp esi edi"
#define X64 "rax rbx rcx rdx rsi rdi rbp rsp r8 r9 r10 r11 r12 r13 r14 r15"

static uint64_t load4(uint64_t addr)
{
	uint32_t v = 0;
	memory_read(addr, &v, sizeof v);
	return v;
}

static uint64_t load8(uint64_t addr)
{
	uint64_t v = 0;
	memory_read(addr, &v, sizeof v);
	return v;
}

/* A signed return address of AArch64 has its signature above the 48 bits of an address
 * (Arm ARM, "Pointer authentication"). */
#define SIGNATURE 0xffff000000000000

/* QEMU gives MIPS's PC with the ISA mode in bit 0. */
enum { mips_pc = 37 };

static struct cpu cpus[] = {
	{ "mips", mips_cpu_gdb_read_register, O32, 29, 31, 4, 15, -1, mips_pc, true, { 4, true, 1, false, load4 } },
	{ "mipsel", mips_cpu_gdb_read_register, O32, 29, 31, 4, 15, -1, mips_pc, false, { 4, true, 1, false, load4 } },
	{ "mips64", mips_cpu_gdb_read_register, N64, 29, 31, 4, 15, -1, mips_pc, true, { 8, true, 1, false, load8 } },
	{ "mips64el", mips_cpu_gdb_read_register, N64, 29, 31, 4, 15, -1, mips_pc, false, { 8, true, 1, false, load8 } },
	{ "arm", arm_cpu_gdb_read_register, ARM, 13, 14, 0, -1, 25, -1, false, { 4, true, 1, false, load4 } },
	{ "aarch64", aarch64_cpu_gdb_read_register, A64, 31, 30, 0, -1, -1, -1, false, { 8, true, SIGNATURE, false, load8 } },
	{ "riscv64", riscv_cpu_gdb_read_register, RV, 2, 1, 10, 5, -1, -1, false, { 8, true, 0, true, load8 } },
	{ "i386", x86_cpu_gdb_read_register, X32, 4, -1, -1, -1, -1, -1, false, { 4, false, 0, false, load4 } },
	{ "x86_64", x86_cpu_gdb_read_register, X64, 7, -1, 5, -1, -1, -1, false, { 8, false, 0, false, load8 } },
};

struct cpu *cpu_find(const char *target)
{
	for (size_t i = 0; i < sizeof cpus / sizeof *cpus; i++)
		if (strcmp(cpus[i].target, target) == 0)
			return cpus[i].read ? &cpus[i] : NULL;
	return NULL;
}

uint64_t memory_word(const struct cpu *c, const uint8_t *b)
{
	uint64_t v = 0;
	for (unsigned i = 0; i < c->abi.word; i++)
		v |= (uint64_t)b[i] << 8 * (c->big ? c->abi.word - 1 - i : i);
	return v;
}

uint64_t cpu_register(const struct cpu *c, unsigned vcpu, int n)
{
	static __thread GByteArray *buf;
	if (!buf)
		buf = g_byte_array_new();
	g_byte_array_set_size(buf, 0);
	int len = c->read(qemu_get_cpu(vcpu), buf, n);
	uint64_t v = 0;
	for (int i = 0; i < len && i < 8; i++)
		v |= (uint64_t)buf->data[i] << 8 * (c->big ? len - 1 - i : i);
	return v;
}

/* A system call, so that an address that is not mapped ends no program. */
size_t memory_read(uint64_t addr, void *to, size_t size)
{
	struct iovec here = { to, size }, there = { (void *)(guest_base + addr), size };
	ssize_t n = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
	return n < 0 ? 0 : n;
}
