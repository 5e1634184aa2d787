// Zephyr's way: the entry saves what calls do not keep, and goes on on the interrupt stack; a switch
// of tasks is a call, in yield or at the end of the entry, which keeps the rest in the control block.
#if __riscv_xlen == 64
#define Y "*8"
#else
#define Y "*4"
#endif
#define ESF(op) op "ra,0(sp)\n" op "t0,1" Y "(sp)\n" op "t1,2" Y "(sp)\n" op "t2,3" Y "(sp)\n" op "t3,4" Y "(sp)\n" op "t4,5" Y "(sp)\n" op "t5,6" Y "(sp)\n" op "t6,7" Y "(sp)\n" op "a0,8" Y "(sp)\n" op "a1,9" Y "(sp)\n" op "a2,10" Y "(sp)\n" op "a3,11" Y "(sp)\n" op "a4,12" Y "(sp)\n" op "a5,13" Y "(sp)\n" op "a6,14" Y "(sp)\n" op "a7,15" Y "(sp)\n" op "s0,16" Y "(sp)\n"
#define KEPT(op, base) op "s0,0(" base ")\n" op "s1,1" Y "(" base ")\n" op "s2,2" Y "(" base ")\n" op "s3,3" Y "(" base ")\n" op "s4,4" Y "(" base ")\n" op "s5,5" Y "(" base ")\n" op "s6,6" Y "(" base ")\n" op "s7,7" Y "(" base ")\n" op "s8,8" Y "(" base ")\n" op "s9,9" Y "(" base ")\n" op "s10,10" Y "(" base ")\n" op "s11,11" Y "(" base ")\n"

struct task *trapped(void) // the task that another one is to follow, if any
{
	word cause; __asm__ volatile("csrr %0, mcause" : "=r"(cause));
	if ((cause & 0xff) == 3) { *(volatile uint32_t *)0x2000000 = 0; if (handlers++) inner(); else interrupt(); return 0; }
	ticks++; later();
	struct task *old = current; pick();
	return old == current ? 0 : old;
}
void fatal(word *kept, word *frame)
{
	static const uint8_t slots[18] = { 0, 0, 0, 0, 0, 1, 2, 3, 16, 0, 8, 9, 10, 11, 12, 13, 14, 15 };
	struct fault f = { .pc = frame[17], .lr = frame[0] };
	__asm__ volatile("csrr %0, mcause\n csrr %1, mtval" : "=r"(f.cause), "=r"(f.value));
	for (int i = 5; i < 18; i++) f.regs[i] = frame[slots[i]];
	for (int i = 28; i < 32; i++) f.regs[i] = frame[i - 24];
	for (int i = 18; i < 28; i++) f.regs[i] = kept[i - 16];
	f.regs[1] = f.lr; f.regs[9] = kept[1];
	__asm__ volatile("mv %0, gp\n mv %1, tp" : "=r"(f.regs[3]), "=r"(f.regs[4])); // the same everywhere
	f.sp = f.regs[2] = (word)(frame + 20);
	stop(&f);
}
__attribute__((naked)) void port_switch(struct task *to, struct task *from)
{
	__asm__ volatile(" addi a0,a0,%0\n addi a1,a1,%0\n" S "sp,0(a1)\n" S "ra,1" Y "(a1)\n addi a1,a1,2" Y "\n" KEPT(S, "a1") L "sp,0(a0)\n" L "ra,1" Y "(a0)\n addi a0,a0,2" Y "\n" KEPT(L, "a0") " ret" ::"i"(SP_AT));
}
__asm__(".section .text.trap\n.balign 4\n.globl trap\n.type trap,@function\ntrap:\n addi sp,sp,-20" Y "\n" ESF(S) " csrr t0,mepc\n" S "t0,17" Y "(sp)\n csrr t0,mstatus\n" S "t0,18" Y "(sp)\n csrr t0,mcause\n bltz t0,1f\n"
	" mv a1,sp\n addi sp,sp,-12" Y "\n" KEPT(S, "sp") " mv a0,sp\n call fatal\n"
	"1: mv t0,sp\n csrrw t1,mscratch,zero\n beqz t1,2f\n mv sp,t1\n2: addi sp,sp,-16\n" S "t0,0(sp)\n call trapped\n" L "sp,0(sp)\n la t0,__stack_end\n csrw mscratch,t0\n beqz a0,resume\n mv a1,a0\n la a0,current\n" L "a0,0(a0)\n call port_switch\n"
	".globl resume\nresume:\n.globl thread_start\nthread_start:\n" L "t0,17" Y "(sp)\n csrw mepc,t0\n" L "t0,18" Y "(sp)\n csrw mstatus,t0\n" ESF(L) " addi sp,sp,20" Y "\n mret\n.size trap,.-trap\n");
