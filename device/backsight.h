/* Backtraces on the device itself, by a table that `backsight table --format device` made.
 *
 *     void *pcs[16];
 *     int n = bs_backtrace(pcs, 16);
 *
 * See docs/device.md. C99; no heap, no library, no recursion, no floating point. All functions
 * may be called in signal handlers and exception handlers. */
#ifndef BACKSIGHT_H
#define BACKSIGHT_H

#include <stddef.h>
#include <stdint.h>

/* The machine: found out from the compiler, or BS_MACHINE is its number in ELF files, BS_WORD
 * the size of a saved register and BS_ADDRESS that of an address, in bytes. */
#define BS_I386 3
#define BS_MIPS 8
#define BS_ARM 40
#define BS_X86_64 62
#define BS_AARCH64 183
#define BS_RISCV 243

#ifndef BS_MACHINE
#if defined(__mips__)
#define BS_MACHINE BS_MIPS
#elif defined(__arm__)
#define BS_MACHINE BS_ARM
#elif defined(__aarch64__)
#define BS_MACHINE BS_AARCH64
#elif defined(__riscv)
#define BS_MACHINE BS_RISCV
#elif defined(__x86_64__)
#define BS_MACHINE BS_X86_64
#elif defined(__i386__)
#define BS_MACHINE BS_I386
#else
#error "no such machine"
#endif
#endif

#ifndef BS_WORD
#if defined(__mips64) || (defined(__riscv_xlen) && __riscv_xlen == 64) || defined(__aarch64__) || defined(__x86_64__)
#define BS_WORD 8
#else
#define BS_WORD 4
#endif
#endif
#ifndef BS_ADDRESS
#if defined(__mips64) && defined(_ABIN32) && _MIPS_SIM == _ABIN32
#define BS_ADDRESS 4
#else
#define BS_ADDRESS BS_WORD
#endif
#endif

#if BS_WORD == 8
typedef uint64_t bs_word;
#else
typedef uint32_t bs_word;
#endif

/* Registers, by the numbers that tables have. */
#if BS_MACHINE == BS_MIPS /* $16 to $25, $1, $15, $28 to $31: the C library's own code keeps a return address in $1 or $15 */
enum { BS_SP = 13, BS_FP = 14, BS_LR = 15 };
#elif BS_MACHINE == BS_ARM /* r0 to r15 */
enum { BS_FP = 11, BS_SP = 13, BS_LR = 14 };
#elif BS_MACHINE == BS_AARCH64 /* x16 to sp */
enum { BS_FP = 13, BS_LR = 14, BS_SP = 15 };
#elif BS_MACHINE == BS_RISCV /* ra, sp, t0, s0 to s11 */
enum { BS_LR = 0, BS_SP = 1, BS_FP = 3 };
#elif BS_MACHINE == BS_X86_64 /* the DWARF numbers: rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8 to r15 */
enum { BS_FP = 6, BS_SP = 7, BS_LR = 16 };
#elif BS_MACHINE == BS_I386 /* eax, ecx, edx, ebx, esp, ebp, esi, edi */
enum { BS_SP = 4, BS_FP = 5, BS_LR = 16 };
#endif

/* Those that a function leaves to its caller as they were, by bit. */
#if BS_MACHINE == BS_MIPS && BS_WORD == 4
enum { BS_PRESERVED = 0x40ff };
#elif BS_MACHINE == BS_MIPS
enum { BS_PRESERVED = 0x50ff };
#elif BS_MACHINE == BS_ARM
enum { BS_PRESERVED = 0x0ff0 };
#elif BS_MACHINE == BS_AARCH64
enum { BS_PRESERVED = 0x3ff8 };
#elif BS_MACHINE == BS_RISCV
enum { BS_PRESERVED = 0x7ff8 };
#elif BS_MACHINE == BS_X86_64
enum { BS_PRESERVED = 0xf048 };
#elif BS_MACHINE == BS_I386
enum { BS_PRESERVED = 0xe8 };
#endif

/* A frame. Bit n of known tells that r[n] is. exact: pc is about to be executed; else pc is where
 * a call returns to. guessed: this frame, or one on the way to it, was found by bs_world.guess or by a rule
 * that is guessed. pc has no mode bit. */
struct bs_regs {
	bs_word pc;
	bs_word r[16];
	uint16_t known;
	uint8_t exact, guessed;
};

/* Why a walk ended. */
enum bs_stop {
	BS_ROOT,        /* the outermost frame */
	BS_LIMIT,       /* no more room */
	BS_NO_TABLE,    /* no table has the pc */
	BS_NO_RULE,     /* the table cannot say this frame's rule */
	BS_NO_REGISTER, /* the rule needs a register that is not known */
	BS_UNREADABLE,  /* no stack at the address, or not aligned */
	BS_NO_PROGRESS, /* the caller's stack pointer is not above this one */
	BS_BAD_TABLE    /* the table contradicts itself */
};

/* The rule of a frame. The CFA, the caller's stack pointer, is register base plus offset words or, with BS_LOAD, the
 * word there. A slot lies so many words above the CFA or, with BS_BELOW (of the return address: BS_RA_BELOW), above
 * register base; with BS_RA_REGISTER ra is a register. */
enum { BS_LOAD = 1, BS_BELOW = 2, BS_RA_BELOW = 4, BS_RA_REGISTER = 8, BS_OUTERMOST = 16, BS_GUESSED = 32 };
enum { BS_KEPT = -32768, BS_LOST = 32767 }; /* instead of a slot: the register has the caller's value; nothing has */
struct bs_rule {
	int32_t offset;
	int16_t ra;
	uint8_t base, flags;
	int16_t slot[16];
};

/* How a walk reads the world; all of it may be 0. */
struct bs_world {
	/* The table that has pc, and how far its program lies above the addresses it was linked to;
	 * 0: there is none. Without this function backsight_table is used. */
	const uint8_t *(*table)(void *context, bs_word pc, bs_word *bias);
	/* Reads an aligned word of the target; false: it cannot be read. Without this function
	 * memory is simply read. */
	int (*read)(void *context, bs_word address, bs_word *value);
	/* Asked for each frame that a call returns to, before its rule: finds the caller of a signal's
	 * trampoline. True: regs are the caller's. */
	int (*trampoline)(void *context, const struct bs_world *world, struct bs_regs *regs);
	/* Asked for each return address, which is in regs->pc as it was stored, mode bit included:
	 * finds what an exception has interrupted, where a handler returns to a magic number. True:
	 * regs are of the interrupted frame. */
	int (*exception)(void *context, const struct bs_world *world, struct bs_regs *regs);
	/* Asked where no table has the pc, without which a walk ends there: finds the caller by other means.
	 * True: regs are the caller's, and guessed. */
	int (*guess)(void *context, const struct bs_world *world, struct bs_regs *regs);
	void *context;
	/* The stack, from low up to high; 0 and 0: unknown. */
	bs_word stack_low, stack_high;
	/* The bits of a code address that are no signature; 0: all or, where the reader runs on AArch64
	 * itself, those that the processor says. */
	bs_word code_mask;
	/* Finds the rule at an address: of the instruction that is about to be executed, if exact, else the byte before the
	 * address where a call returns to. Without this function the table has it. False: there is none, for the reason in why. */
	int (*rule)(void *context, const struct bs_world *world, bs_word at, int exact, struct bs_rule *rule, enum bs_stop *why);
};

/* The table of the program itself, where one is linked in: `backsight table --format device-c`, or a
 * symbol that the linker defines. */
#if defined(__APPLE__)
extern const uint8_t backsight_table[] __attribute__((weak_import));
#else
extern const uint8_t backsight_table[] __attribute__((weak));
#endif

/* bs_backtrace writes the return addresses of the calls that are running, that of bs_backtrace's
 * caller first, and returns how many. */
int bs_backtrace(void **pcs, int max);

/* bs_frames is bs_backtrace with a world. It leaves itself out, and as many of its callers as skip says:
 * wrappers that shall not be seen. Before a frame that is the first to be guessed it writes a null pointer. */
int bs_frames(const struct bs_world *world, int skip, void **pcs, int max);

/* bs_here lets regs be those of its caller, where bs_here returns to. */
void bs_here(struct bs_regs *regs);

/* bs_unwind writes the addresses of a frame and its callers, regs' pc first, and returns how
 * many. regs become those of the last. world may be 0, and why. */
int bs_unwind(const struct bs_world *world, struct bs_regs *regs, bs_word *pcs, int max, enum bs_stop *why);

/* bs_load reads a word of the target as world says; false: it cannot be read. */
int bs_load(const struct bs_world *world, bs_word address, bs_word *value);

/* bs_step finds the caller of a frame; false: there is none, for the reason in why. */
int bs_step(const struct bs_world *world, struct bs_regs *regs, enum bs_stop *why);

/* bs_table_rule is the rule that a table has at an address as linked; false: none, for the reason in why. */
int bs_table_rule(const uint8_t *table, bs_word at, struct bs_rule *rule, enum bs_stop *why);

/* bs_check tells whether a table of so many bytes at most is whole, of this kind of machine and,
 * with code (where the program's code lies), of this very build. It reads all of them; walks do
 * not check. */
int bs_check(const uint8_t *table, size_t size, const uint8_t *code);

/* bs_sum is the CRC-32 of IEEE 802.3. */
uint32_t bs_sum(const uint8_t *bytes, size_t size);

/* bs_print writes "backsight: PC PC …  BUILDID" and a line's end through put, for `backsight bt`
 * to read in a log. table may be 0. */
void bs_print(const bs_word *pcs, int n, const uint8_t *table, void (*put)(void *context, char c), void *context);

#endif
