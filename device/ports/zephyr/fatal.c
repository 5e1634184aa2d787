/* The handler that Zephyr calls for errors that a thread cannot survive. */
#include <zephyr/fatal.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>

#include "threads.h"
#include "../report.h"

#if BS_MACHINE == BS_ARM
#include "../cortexm/exception.h"
static const struct bs_world world = {.read = bs_cortexm_read, .exception = bs_cortexm_exception};
#else
#include "../riscv/fault.h"
static const struct bs_world world = {.read = bs_riscv_read};
#endif

void bs_put(void *context, char c)
{
	(void)context;
	printk("%c", c);
}

/* failed lets regs be those of what failed. */
static void failed(const struct arch_esf *esf, struct bs_regs *regs)
{
#if BS_MACHINE == BS_ARM
	const struct _callee_saved *saved = esf->extra_info.callee;
	bs_word sp = esf->extra_info.exc_return & 4 ? saved->psp : esf->extra_info.msp;

	bs_cortexm_task(&world, (bs_word)(uintptr_t)saved, sp, esf->extra_info.exc_return, regs);
#else
	static bs_word x[32];

	x[1] = (bs_word)esf->ra;
	x[2] = (bs_word)(uintptr_t)(esf + 1);
	x[5] = (bs_word)esf->t0;
	x[8] = (bs_word)esf->s0;
	bs_riscv_trap(x, (bs_word)esf->mepc, regs);
	regs->known &= 0x000f; /* the others are saved by whoever needs them */
#endif
}

void k_sys_fatal_error_handler(unsigned int reason, const struct arch_esf *esf)
{
	static struct bs_regs regs;
	enum bs_stop why = BS_UNREADABLE;

	(void)reason;
	report_text("\nbacksight: report 1\n");
	if (esf) {
		failed(esf, &regs);
		report_value("sp:", regs.r[BS_SP]);
		report_value("pc:", regs.pc);
		bs_put(0, '\n');
		why = report_frames(&world, &regs);
	}
	report_end(why);
	k_fatal_halt(reason);
}
