/* What the tracer uses of QEMU 7.2, declared anew: Debian 12 does not ship
 * qemu-plugin.h. The plugin interface is that of docs/devel/tcg-plugins.rst, API
 * version 1.
 *
 * API version 1 cannot read registers or memory. The emulators of Debian export
 * all their symbols to plugins, so that the functions which serve QEMU's GDB stub
 * do it: their register numbers are GDB's (gdbstub: "gdb_read_register"). */
#ifndef QEMU_H
#define QEMU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint64_t qemu_plugin_id_t;

typedef struct {
	const char *target_name;
	struct { int min, cur; } version;
	bool system_emulation;
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_CB_R_REGS };

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, unsigned vcpu));
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, struct qemu_plugin_tb *));
typedef void (*qemu_syscall_cb)(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                                uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, qemu_syscall_cb);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, void (*)(qemu_plugin_id_t, void *), void *);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*)(unsigned vcpu, void *),
                                            enum qemu_plugin_cb_flags, void *);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_start_code(void); /* where the lowest executable segment of the program lies */
uint64_t qemu_plugin_end_code(void);   /* behind its executable segments */

/* GLib's byte array, which the GDB stub's functions append to. */
typedef struct { uint8_t *data; unsigned len; } GByteArray;
GByteArray *g_byte_array_new(void);
GByteArray *g_byte_array_set_size(GByteArray *, unsigned);

typedef struct CPUState CPUState;
CPUState *qemu_get_cpu(int index);

/* An emulator has the function of its own CPU only. */
#define STUB __attribute__((weak)) int
STUB mips_cpu_gdb_read_register(CPUState *, GByteArray *, int);
STUB arm_cpu_gdb_read_register(CPUState *, GByteArray *, int);
STUB aarch64_cpu_gdb_read_register(CPUState *, GByteArray *, int);
STUB riscv_cpu_gdb_read_register(CPUState *, GByteArray *, int);
STUB x86_cpu_gdb_read_register(CPUState *, GByteArray *, int);

/* Address 0 of the program lies here in the emulator. */
extern uintptr_t guest_base;

#endif
