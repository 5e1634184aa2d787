/* The handler of faults. The stack may be what has failed: nothing is pushed before there is another one. */
#include "fault.h"
#include "../report.h"

#define SCB(offset) (*(volatile uint32_t *)(0xe000ed00u + (offset)))
#define STACK_SIZE "640"

enum { CFSR = 0x28, HFSR = 0x2c, MMFAR = 0x34, BFAR = 0x38, MPU_CTRL = 0x94 };
enum { NOT_PUSHED = 1 << 4 | 1 << 12 | 1 << 20 }; /* MSTKERR, STKERR, STKOF: where the frame should be, old words are */

__asm__(".local bs_fault_saved\n\t.comm bs_fault_saved, 44, 4\n\t.local bs_fault_stack\n\t.comm bs_fault_stack, " STACK_SIZE ", 8");

#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
#define NO_LIMIT "movs r1, #0\n\tmsr msplim, r1\n\t"
#else
#define NO_LIMIT
#endif

__attribute__((naked)) void bs_fault_entry(void)
{
	__asm__ volatile("cpsid i\n\t"
			 "ldr r0, =bs_fault_saved\n\t"
			 "mov r1, sp\n\tmov r2, lr\n\tmrs r3, psp\n\tstmia r0!, {r1-r7}\n\t"
			 "mov r1, r8\n\tmov r2, r9\n\tmov r3, r10\n\tmov r4, r11\n\tstmia r0!, {r1-r4}\n\t"
			 NO_LIMIT
			 "ldr r1, =bs_fault_stack + " STACK_SIZE "\n\tmov sp, r1\n\t"
			 "ldr r0, =bs_fault_saved\n\tbl bs_fault\n\t"
			 "b .\n\t.pool");
}

#if !defined(BS_NO_HARDFAULT)
void HardFault_Handler(void) __attribute__((alias("bs_fault_entry")));
#endif

/* print_cause prints what the system control block says, and returns the status of configurable faults; Armv6-M has
 * nothing to say. */
static uint32_t print_cause(const struct bs_fault *s)
{
	uint32_t cfsr = 0;

	report_value("exc_return:", s->exc_return);
	report_value("msp:", s->msp);
	report_value("psp:", s->psp);
#if defined(__thumb2__)
	cfsr = SCB(CFSR);
	report_value("cfsr:", cfsr);
	report_value("hfsr:", SCB(HFSR));
	report_value("mmfar:", SCB(MMFAR));
	report_value("bfar:", SCB(BFAR));
#endif
	bs_put(0, '\n');
	return cfsr;
}

static void print_registers(const struct bs_regs *regs)
{
	uint32_t i;

	for (i = 0; i < 13; i++)
		if (regs->known >> i & 1) {
			bs_put(0, 'r');
			report_number(i);
			report_value(":", regs->r[i]);
		}
	report_value("sp:", regs->r[BS_SP]);
}

/* take lets regs be those of what failed, of which a frame that the processor could not push tells nothing. */
static int take(const struct bs_world *world, const struct bs_fault *s, int pushed, struct bs_regs *regs, bs_word *xpsr)
{
	bs_word frame = s->exc_return & 4 ? s->psp : s->msp;
	int i;

	for (i = 0; i < 8; i++)
		regs->r[4 + i] = s->r4[i];
	regs->r[BS_SP] = frame;
	regs->known = 0x0ff0 | 1u << BS_SP;
	regs->pc = s->exc_return & ~(bs_word)4; /* the frame is at SP, wherever the process stack pointer is now */
	return pushed && bs_load(world, frame + 28, xpsr) && bs_cortexm_exception(0, world, regs);
}

static void report(const struct bs_fault *s)
{
	static const struct bs_world world = {.read = bs_cortexm_read, .exception = bs_cortexm_exception};
	static struct bs_regs regs;
	enum bs_stop why = BS_UNREADABLE;
	bs_word xpsr;
	int taken;

	SCB(MPU_CTRL) = 0; /* a guard at the end of a stack may be read now */
	__asm__ volatile("dsb\n\tisb" : : : "memory");
	report_text("\nbacksight: report 1\n");
	taken = take(&world, s, !(print_cause(s) & NOT_PUSHED), &regs, &xpsr);
	print_registers(&regs);
	if (taken) {
		report_value("lr:", regs.r[BS_LR]);
		report_value("pc:", regs.pc);
		report_value("xpsr:", xpsr);
	}
	bs_put(0, '\n');
	if (taken || bs_cortexm_guess(&world, &regs))
		why = report_frames(&world, &regs);
	report_end(&world, &regs, why);
}

/* bs_fault does not return. What comes here again has failed in the report, or in a hook. */
void bs_fault(const struct bs_fault *s)
{
	static volatile uint8_t times;

	if (times++ == 0)
		report(s);
	else
		report_text("\nbacksight: a fault in the report\n");
	for (;;)
		bs_end();
}
