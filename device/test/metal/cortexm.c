/* The boards mps2-an385 (Cortex-M3) and mps2-an386 (Cortex-M4F): SysTick interrupts. */
#include "../../ports/cortexm/exception.h"
#include "metal.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define UART(n) REGISTER(0x40004000 + 4 * (n)) /* data, state, control */
#define SYST_CSR REGISTER(0xe000e010)
#define SYST_RVR REGISTER(0xe000e014)
#define SYST_CVR REGISTER(0xe000e018)
#define CPACR REGISTER(0xe000ed88)

extern uint32_t stack_top[];

void metal_put(char c)
{
	while (UART(1) & 1)
		;
	UART(0) = (uint32_t)c;
}

void metal_end(void)
{
	register uint32_t call __asm__("r0") = 0x18, reason __asm__("r1") = 0x20026;
	for (;;)
		__asm__ volatile("bkpt #0xab" : : "r"(call), "r"(reason));
}

static void wait(uint32_t ticks)
{
	SYST_RVR = ticks;
	SYST_CVR = 0;
	SYST_CSR = 7; /* the processor's clock, an interrupt, enabled */
}

void metal_start(void) { wait(1000); }

/* Called with EXC_RETURN, the stack pointer at the handler's entry, and where r4 to r11 are. */
__attribute__((used)) static void tick(uint32_t exc_return, uint32_t sp, const uint32_t *pushed)
{
	static const struct bs_world world = {0, 0, 0, bs_cortexm_exception, 0, 0, 0, 0, 0};
	static struct bs_regs regs;
	int i;

	SYST_CSR = 0;
	for (i = 0; i < 8; i++)
		regs.r[4 + i] = pushed[i];
	regs.r[BS_SP] = sp;
	regs.known = 0x0ff0 | 1u << BS_SP;
	regs.pc = exc_return;
	if (!bs_cortexm_exception(0, &world, &regs))
		metal_end();
	wait(metal_sample(&world, &regs));
}

__attribute__((naked)) static void SysTick_Handler(void)
{
	__asm__ volatile("mov r0, lr\n\tmov r1, sp\n\tpush {r3-r11, lr}\n\tadd r2, sp, #4\n\tbl tick\n\tpop {r3-r11, pc}");
}

static void Reset_Handler(void)
{
#if defined(__ARM_FP)
	CPACR |= 0xf << 20;
#endif
	UART(2) = 1; /* transmit */
	metal_run();
}

static void fault(void) { metal_end(); }

__attribute__((section(".vectors"), used)) static const void *const vectors[] = {
	stack_top, Reset_Handler, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, 0, 0, fault, SysTick_Handler};
