// The port to ARMv7-A with banked registers, as Cortex-R has them too. FreeRTOS' contexts are
// those of its ARM_CA9 and ARM_CR5 ports, whose tasks run in System mode; the entry of interrupts
// stores the return state on the stack of that mode (SRS). RT-Thread's tasks run in Supervisor
// mode and switch by calls; the entry of interrupts stays in IRQ mode.
#include "fw.c"

#define GICD ((volatile uint32_t *)0x08000000)
#define GICC ((volatile uint32_t *)0x08010000)
static int handlers; // that run
static void later(void) { __asm__ volatile("mcr p15,0,%0,c14,c2,0; mcr p15,0,%1,c14,c2,1" ::"r"(200000), "r"(1)); }
void raise(int n) { GICD[0xf00 / 4] = 2 << 24 | n; __asm__ volatile("dsb; isb; cpsie i" ::: "memory"); }
word *switched(word *sp) { current->sp = sp; pick(); return current->sp; }
int trapped(void) // whether another task is to run
{
	word id = GICC[3]; int tick = (id & 1023) == 30;
	if (tick) { ticks++; later(); }
	else if (handlers++) inner();
	else interrupt();
	GICC[4] = id;
	return tick;
}
struct aborted { word r[13], pc, cpsr, sp, lr; };
void fault(struct aborted *a, word dfsr, word dfar)
{
	struct fault f = { .pc = a->pc, .lr = a->lr, .sp = a->sp, .ret = a->cpsr, .cfsr = dfsr, .bfar = dfar };
	for (int i = 0; i < 13; i++) f.regs[i] = a->r[i];
	stop(&f);
}
// Aborts and undefined instructions: the registers of the mode that was left, then the report.
#define ABORT(name, back) name ": sub lr,lr,#" back "; sub sp,sp,#16; push {lr}; push {r0-r12}; mrs r1,spsr; str r1,[sp,#56]; and r3,r1,#31; cmp r3,#16; addeq r3,r3,#15; mrs r4,cpsr; bic r5,r4,#31; orr r5,r5,r3;" \
	"msr cpsr_c,r5; mov r6,sp; mov r7,lr; msr cpsr_c,r4; str r6,[sp,#60]; str r7,[sp,#64]; mov r0,sp; mrc p15,0,r1,c5,c0,0; mrc p15,0,r2,c6,c0,0; bl fault;"
#if RTOS == FREERTOS
#define FIRST "cpsid if, #31"
#define SAVE "push {r0-r12,lr}; mov r1,#0; push {r1}; push {r1}; mov r0,sp; bic sp,sp,#7; bl switched;" // portSAVE_CONTEXT
#define SWITCH "\n.globl service\n.type service,%function\nservice: srsdb sp!,#31; cps #31;" SAVE ".globl resume\nresume: mov sp,r0; pop {r1,r2}; pop {r0-r12,lr}; rfeia sp!\n"
#define TRAP "srsdb sp!,#31; cps #31; push {r0-r3,r12}; and r1,sp,#4; sub sp,sp,r1; push {r1,lr}; bl trapped; pop {r1,lr}; add sp,sp,r1; cmp r0,#0; pop {r0-r3,r12}; bne 1f; rfeia sp!; 1:" SAVE "b resume\n"
#else
#define FIRST "cpsid if, #19"
#define SWITCH "\nservice: b service\n.globl swap\n.type swap,%function\nswap: push {lr}; push {r0-r12,lr}; mrs r4,cpsr; cpsid i; push {r4}; mov r0,sp; bl switched;" \
	".globl resume\nresume: mov sp,r0; pop {r1}; msr spsr_cxsf,r1; ldm sp!,{r0-r12,lr,pc}^\n"
#define TRAP "push {r0-r12,lr}; bl trapped; cmp r0,#0; bne 1f; ldm sp!,{r0-r12,pc}^; 1: mrs r0,spsr; mov r1,sp; add sp,sp,#56; cps #19;" \
	"ldr r2,[r1,#52]; push {r2}; push {lr}; add r2,r1,#16; ldm r2,{r4-r12}; push {r4-r12}; ldm r1,{r4-r7}; push {r4-r7}; push {r0}; mov r0,sp; bl switched; b resume\n"
#endif
__asm__(".section .text.trap,\"ax\"\n.arm\n.balign 32\nvectors: b _start; b undefined; b service; b prefetch; b data; nop; b trap; nop\n"
	ABORT("undefined", "4") ABORT("prefetch", "4") ABORT("data", "8") SWITCH ".globl trap\n.type trap,%function\ntrap: sub lr,lr,#4;" TRAP);
extern char resume[], vectors[];
static char stacks[3][1024] __attribute__((aligned(8)));
void begin(void)
{
	for (char *p = __bss_start; p < __bss_end;) *p++ = 0;
	static const uint8_t modes[] = { 0x12, 0x17, 0x1b };
	for (int i = 0; i < 3; i++) __asm__ volatile("mrs r3,cpsr; bic r2,r3,#31; orr r2,r2,%0; msr cpsr_c,r2; mov sp,%1; msr cpsr_c,r3" ::"r"(modes[i]), "r"(stacks[i] + sizeof stacks[i]) : "r2", "r3", "lr");
	__asm__ volatile("mcr p15,0,%0,c12,c0,0" ::"r"(vectors));
	GICD[0] = 1; GICC[1] = 255; GICC[0] = 1; GICD[0x100 / 4] = 0xffffffff; GICD[0x400 / 4] = 0xa0a080a0; GICD[0x41c / 4] = 0xa0a0a0a0;
	start(); later();
	__asm__ volatile("mov r0,%0; bx %1" ::"r"(tasks[0]->sp), "r"(resume));
}
__asm__(".section .init\n.arm\n.globl _start\n_start: " FIRST "; ldr sp,=__stack_end; mov r11,#0; bl begin; .ltorg\n");
