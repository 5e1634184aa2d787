/* Reset of a RISC-V machine without firmware. */
extern int main(void);
extern char stack_top[];
__attribute__((naked, section(".start"))) void _start(void) {
	__asm__ volatile("la sp, stack_top\n\tli ra, 0\n\tcall run\n1:\tj 1b");
}
__attribute__((used)) void run(void) { main(); for (;;) { } }
void *memcpy(void *d, const void *s, unsigned n) { char *p = d; const char *q = s; while (n--) *p++ = *q++; return d; }
void *memset(void *d, int c, unsigned n) { char *p = d; while (n--) *p++ = (char)c; return d; }

/* The ABI's save and restore routines (RISC-V psABI's millicode, RV32): ra at CFA-4, s0 at CFA-8, and so on down. */
__asm__(
	".globl __riscv_save_12, __riscv_restore_12\n"
	"__riscv_save_12:\n"
	".cfi_startproc\n.cfi_return_column 5\n"
	"addi sp, sp, -64\n.cfi_def_cfa_offset 64\n"
	"sw s11, 12(sp)\n.cfi_offset 27, -52\nsw s10, 16(sp)\n.cfi_offset 26, -48\nsw s9, 20(sp)\n.cfi_offset 25, -44\nsw s8, 24(sp)\n.cfi_offset 24, -40\nsw s7, 28(sp)\n.cfi_offset 23, -36\nsw s6, 32(sp)\n.cfi_offset 22, -32\nsw s5, 36(sp)\n.cfi_offset 21, -28\nsw s4, 40(sp)\n.cfi_offset 20, -24\nsw s3, 44(sp)\n.cfi_offset 19, -20\nsw s2, 48(sp)\n.cfi_offset 18, -16\nsw s1, 52(sp)\n.cfi_offset 9, -12\nsw s0, 56(sp)\n.cfi_offset 8, -8\nsw ra, 60(sp)\n.cfi_offset 1, -4\n"
	"jr t0\n.cfi_endproc\n"
	"__riscv_restore_12:\n"
	".cfi_startproc\n.cfi_def_cfa_offset 64\n"
	"lw s11, 12(sp)\nlw s10, 16(sp)\nlw s9, 20(sp)\nlw s8, 24(sp)\nlw s7, 28(sp)\nlw s6, 32(sp)\nlw s5, 36(sp)\nlw s4, 40(sp)\nlw s3, 44(sp)\nlw s2, 48(sp)\nlw s1, 52(sp)\nlw s0, 56(sp)\nlw ra, 60(sp)\naddi sp, sp, 64\n"
	".cfi_def_cfa_offset 0\nret\n.cfi_endproc\n"
	".globl __riscv_save_11, __riscv_restore_11, __riscv_save_10, __riscv_restore_10, __riscv_save_9, __riscv_restore_9, __riscv_save_8, __riscv_restore_8\n"
	"__riscv_save_11:\n__riscv_save_10:\n__riscv_save_9:\n__riscv_save_8:\n"
	".cfi_startproc\n.cfi_return_column 5\n"
	"addi sp, sp, -48\n.cfi_def_cfa_offset 48\n"
	"sw s10, 0(sp)\n.cfi_offset 26, -48\nsw s9, 4(sp)\n.cfi_offset 25, -44\nsw s8, 8(sp)\n.cfi_offset 24, -40\nsw s7, 12(sp)\n.cfi_offset 23, -36\nsw s6, 16(sp)\n.cfi_offset 22, -32\nsw s5, 20(sp)\n.cfi_offset 21, -28\nsw s4, 24(sp)\n.cfi_offset 20, -24\nsw s3, 28(sp)\n.cfi_offset 19, -20\nsw s2, 32(sp)\n.cfi_offset 18, -16\nsw s1, 36(sp)\n.cfi_offset 9, -12\nsw s0, 40(sp)\n.cfi_offset 8, -8\nsw ra, 44(sp)\n.cfi_offset 1, -4\n"
	"jr t0\n.cfi_endproc\n"
	"__riscv_restore_11:\n__riscv_restore_10:\n__riscv_restore_9:\n__riscv_restore_8:\n"
	".cfi_startproc\n.cfi_def_cfa_offset 48\n"
	"lw s10, 0(sp)\nlw s9, 4(sp)\nlw s8, 8(sp)\nlw s7, 12(sp)\nlw s6, 16(sp)\nlw s5, 20(sp)\nlw s4, 24(sp)\nlw s3, 28(sp)\nlw s2, 32(sp)\nlw s1, 36(sp)\nlw s0, 40(sp)\nlw ra, 44(sp)\naddi sp, sp, 48\n"
	".cfi_def_cfa_offset 0\nret\n.cfi_endproc\n"
	".globl __riscv_save_7, __riscv_restore_7, __riscv_save_6, __riscv_restore_6, __riscv_save_5, __riscv_restore_5, __riscv_save_4, __riscv_restore_4\n"
	"__riscv_save_7:\n__riscv_save_6:\n__riscv_save_5:\n__riscv_save_4:\n"
	".cfi_startproc\n.cfi_return_column 5\n"
	"addi sp, sp, -32\n.cfi_def_cfa_offset 32\n"
	"sw s6, 0(sp)\n.cfi_offset 22, -32\nsw s5, 4(sp)\n.cfi_offset 21, -28\nsw s4, 8(sp)\n.cfi_offset 20, -24\nsw s3, 12(sp)\n.cfi_offset 19, -20\nsw s2, 16(sp)\n.cfi_offset 18, -16\nsw s1, 20(sp)\n.cfi_offset 9, -12\nsw s0, 24(sp)\n.cfi_offset 8, -8\nsw ra, 28(sp)\n.cfi_offset 1, -4\n"
	"jr t0\n.cfi_endproc\n"
	"__riscv_restore_7:\n__riscv_restore_6:\n__riscv_restore_5:\n__riscv_restore_4:\n"
	".cfi_startproc\n.cfi_def_cfa_offset 32\n"
	"lw s6, 0(sp)\nlw s5, 4(sp)\nlw s4, 8(sp)\nlw s3, 12(sp)\nlw s2, 16(sp)\nlw s1, 20(sp)\nlw s0, 24(sp)\nlw ra, 28(sp)\naddi sp, sp, 32\n"
	".cfi_def_cfa_offset 0\nret\n.cfi_endproc\n"
	".globl __riscv_save_3, __riscv_restore_3, __riscv_save_2, __riscv_restore_2, __riscv_save_1, __riscv_restore_1, __riscv_save_0, __riscv_restore_0\n"
	"__riscv_save_3:\n__riscv_save_2:\n__riscv_save_1:\n__riscv_save_0:\n"
	".cfi_startproc\n.cfi_return_column 5\n"
	"addi sp, sp, -16\n.cfi_def_cfa_offset 16\n"
	"sw s2, 0(sp)\n.cfi_offset 18, -16\nsw s1, 4(sp)\n.cfi_offset 9, -12\nsw s0, 8(sp)\n.cfi_offset 8, -8\nsw ra, 12(sp)\n.cfi_offset 1, -4\n"
	"jr t0\n.cfi_endproc\n"
	"__riscv_restore_3:\n__riscv_restore_2:\n__riscv_restore_1:\n__riscv_restore_0:\n"
	".cfi_startproc\n.cfi_def_cfa_offset 16\n"
	"lw s2, 0(sp)\nlw s1, 4(sp)\nlw s0, 8(sp)\nlw ra, 12(sp)\naddi sp, sp, 16\n"
	".cfi_def_cfa_offset 0\nret\n.cfi_endproc\n");
