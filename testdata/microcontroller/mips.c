// The port to MIPS32 with the context of FreeRTOS' PIC32MX port. One trap entry saves the
// context on the task's stack and goes on on the interrupt stack, with the task's SP in s5.
// syscall and the timer of coprocessor 0 switch tasks, software interrupt 0 runs a handler.
#include "fw.c"

static const uint8_t slots[32] = { [1] = 4, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 5, 6, 7, 8, 9, 10, 11, 12, 27, 28, [30] = 29, 30 };
#define C0(n) ({ word v_; __asm__ volatile("mfc0 %0, $" #n : "=r"(v_)); v_; })
#define SET_C0(n, v) __asm__ volatile("mtc0 %0, $" #n "; ehb" ::"r"(v) : "memory")
static int handlers; // that run
static void later(void) { SET_C0(9, 0); SET_C0(11, 200000); }
void raise(int n) { SET_C0(13, C0(13) | 0x100); if (n) SET_C0(12, C0(12) | 1); }
word *trapped(word *sp)
{
	word cause = C0(13);
	if ((cause >> 2 & 31) == 0) {
		if (cause & 0x100) { SET_C0(13, cause & ~0x100u); if (handlers++) inner(); else interrupt(); return sp; }
		ticks++; later();
	} else if ((cause >> 2 & 31) == 8) {
		sp[31] += 4;
	} else {
		struct fault f = { .pc = sp[31], .lr = sp[30], .cause = cause, .value = C0(8), .ret = sp[32] };
		for (int i = 1; i < 32; i++) f.regs[i] = slots[i] ? sp[slots[i]] : 0;
		f.sp = f.regs[29] = (word)(sp + 33);
		stop(&f);
	}
	current->sp = sp; pick(); return current->sp;
}
word depth = 1; // of traps; none takes the interrupt stack before tasks run
#define EACH(op) op "$1,16($sp);" op "$16,20($sp);" op "$17,24($sp);" op "$18,28($sp);" op "$19,32($sp);" op "$20,36($sp);" op "$21,40($sp);" op "$22,44($sp);" op "$23,48($sp);" op "$2,52($sp);" op "$3,56($sp);" op "$4,60($sp);" op "$5,64($sp);" op "$6,68($sp);" op "$7,72($sp);" op "$8,76($sp);" op "$9,80($sp);" op "$10,84($sp);" op "$11,88($sp);" op "$12,92($sp);" op "$13,96($sp);" op "$14,100($sp);" op "$15,104($sp);" op "$24,108($sp);" op "$25,112($sp);" op "$30,116($sp);" op "$31,120($sp);"
__asm__(".section .text.trap\n.set push\n.set noreorder\n.set noat\n.globl trap\n.ent trap\ntrap: addiu $sp,$sp,-132;" EACH("sw ")
	"mfc0 $26,$14; sw $26,124($sp); mfc0 $26,$12; sw $26,128($sp); mfhi $8; sw $8,12($sp); mflo $8; sw $8,8($sp);"
	"move $21,$sp; move $4,$sp; lui $8,%hi(depth); lw $9,%lo(depth)($8); addiu $10,$9,1; bnez $9,1f; sw $10,%lo(depth)($8); lui $sp,%hi(__stack_end); addiu $sp,$sp,%lo(__stack_end); addiu $sp,$sp,4;"
	"1: addiu $sp,$sp,-20; ins $26,$0,0,5; mtc0 $26,$12; ehb; jal trapped; nop; mtc0 $0,$12; ehb; lui $8,%hi(depth); lw $9,%lo(depth)($8); addiu $9,$9,-1; sw $9,%lo(depth)($8); move $sp,$2;"
	".globl resume\nresume: lw $8,12($sp); mthi $8; lw $8,8($sp); mtlo $8;" EACH("lw ")
	"lw $26,124($sp); lw $27,128($sp); ori $27,$27,2; mtc0 $27,$12; ehb; mtc0 $26,$14; addiu $sp,$sp,132; ehb; eret; nop\n.end trap\n"
	"vector: lui $26,%hi(trap); addiu $26,$26,%lo(trap); jr $26; nop\n.set pop\n");
extern char resume[]; extern uint32_t vector[];
void begin(void)
{
	for (char *p = __bss_start; p < __bss_end;) *p++ = 0;
	for (int i = 0; i < 4; i++) ((volatile uint32_t *)0xa0000000)[i] = ((volatile uint32_t *)0xa0000180)[i] = vector[i];
	SET_C0(12, 0x20000000); // vectors in RAM, floating point on
	start(); later(); depth = 0;
	__asm__ volatile("move $sp, %0; jr %1; nop" ::"r"(tasks[0]->sp), "r"(resume));
}
__asm__(".section .init\n.globl _start\n_start: lui $sp,%hi(__stack_end); addiu $sp,$sp,%lo(__stack_end); addiu $sp,$sp,-16; move $fp,$0; jal begin; nop\n");
