/* Boards with a Cortex-M: SysTick interrupts. */
#include "../../ports/cortexm/exception.h"
#include "../board.h"
#include "metal.h"

#define SYST_CSR REGISTER(0xe000e010)
#define SYST_RVR REGISTER(0xe000e014)
#define SYST_CVR REGISTER(0xe000e018)
#define CPACR REGISTER(0xe000ed88)

extern uint32_t stack_top[];

static void wait(uint32_t ticks)
{
	SYST_RVR = ticks;
	SYST_CVR = 0;
	SYST_CSR = 7; /* the processor's clock, an interrupt, enabled */
}

void metal_start(void) { wait(1000); }

/* Called with EXC_RETURN, the stack pointer at the handler's entry, and where r4 to r7, r10, r11, r8, r9 are. */
__attribute__((used)) static void tick(uint32_t exc_return, uint32_t sp, const uint32_t *pushed)
{
	static const struct bs_world world = {.exception = bs_cortexm_exception};
	static const uint8_t order[8] = {4, 5, 6, 7, 10, 11, 8, 9};
	static struct bs_regs regs;
	int i;

	SYST_CSR = 0;
	for (i = 0; i < 8; i++)
		regs.r[order[i]] = pushed[i];
	regs.r[BS_SP] = sp;
	regs.known = 0x0ff0 | 1u << BS_SP;
	regs.pc = exc_return;
	if (!bs_cortexm_exception(0, &world, &regs))
		bs_end();
	wait(metal_sample(&world, &regs));
}

/* Armv6-M pushes low registers only. Nothing is popped but pc: functions keep r4 to r11. */
__attribute__((naked)) static void SysTick_Handler(void)
{
	__asm__ volatile("mov r0, lr\n\tmov r1, sp\n\tpush {r0, lr}\n\t"
			 "mov r2, r8\n\tmov r3, r9\n\tpush {r2, r3}\n\tmov r2, r10\n\tmov r3, r11\n\tpush {r2, r3}\n\t"
			 "push {r4-r7}\n\tmov r2, sp\n\tbl tick\n\tadd sp, #36\n\tpop {pc}");
}

static void Reset_Handler(void)
{
#if defined(__ARM_FP)
	CPACR |= 0xf << 20;
#endif
	board_start();
	metal_run();
}

static void fault(void) { bs_end(); }

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
	stack_top, Reset_Handler, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, 0, 0, fault, SysTick_Handler};
