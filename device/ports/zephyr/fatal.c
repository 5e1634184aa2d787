/* The handler that Zephyr calls for errors that a thread cannot survive. */
#include <zephyr/fatal.h>
#include <zephyr/kernel.h>
#include <zephyr/sys/printk.h>
#if __has_include(<zephyr/version.h>)
#include <zephyr/version.h>
#else
#include <version.h>
#endif

#include "threads.h"
#include "../report.h"

#if KERNELVERSION < 0x3070000
typedef z_arch_esf_t esf_t;
#else
typedef struct arch_esf esf_t;
#endif

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

const char *bs_thread(void)
{
	const char *name = k_thread_name_get(k_current_get());

	return name ? name : "";
}

#if defined(CONFIG_THREAD_MONITOR)
int bs_task(const struct bs_world *w, uint32_t i, struct bs_regs *regs, bs_word *name)
{
	bs_word at = (bs_word)(uintptr_t)_kernel.threads;
	int n;

	for (n = 0; n < 256 && at != 0; n++) {
		if (at != (bs_word)(uintptr_t)k_current_get() && i-- == 0) {
#if defined(CONFIG_THREAD_NAME)
			*name = at + offsetof(struct k_thread, name);
#else
			*name = 0;
#endif
			if (!bs_zephyr_task(w, at + offsetof(struct k_thread, callee_saved), regs))
				regs->known = 0;
			return 1;
		}
		if (!bs_load(w, at + offsetof(struct k_thread, next_thread), &at))
			return 0;
	}
	return 0;
}
#endif

/* failed lets regs be those of what failed. */
static int failed(unsigned int reason, const esf_t *esf, struct bs_regs *regs)
{
#if BS_MACHINE == BS_ARM
	const struct _callee_saved *saved = esf->extra_info.callee;
	uint32_t exc_return = esf->extra_info.exc_return, sp;

	if (!saved)
		return 0;
	if (exc_return == 0) /* an oops, a panic or an assertion, by a call of the kernel, which an interrupt makes without */
		exc_return = 0xfffffffd;
	report_value("exc_return:", exc_return);
	bs_put(0, '\n');
	sp = exc_return & 4 ? saved->psp : esf->extra_info.msp;
	if (reason != K_ERR_STACK_CHK_FAIL || esf->extra_info.exc_return == 0)
		return bs_cortexm_task(&world, (bs_word)(uintptr_t)saved, sp, exc_return, regs);
	regs->r[BS_SP] = sp; /* the frame could not be pushed */
	return bs_cortexm_guess(&world, regs);
#else
	static bs_word x[32];

	(void)reason;
	report_value("mcause:", csr_read(mcause));
	report_value("mtval:", csr_read(mtval));
	bs_put(0, '\n');
	x[1] = (bs_word)esf->ra;
	x[2] = (bs_word)(uintptr_t)(esf + 1);
	x[5] = (bs_word)esf->t0;
	x[8] = (bs_word)esf->s0;
	bs_riscv_trap(x, (bs_word)esf->mepc, regs);
	regs->known &= 0x000f; /* the others are saved by whoever needs them */
	return 1;
#endif
}

void k_sys_fatal_error_handler(unsigned int reason, const esf_t *esf)
{
	static struct bs_regs regs;
	enum bs_stop why = BS_UNREADABLE;

	report_text("\nbacksight: report 1\n");
	if (esf && failed(reason, esf, &regs)) {
		report_value("sp:", regs.r[BS_SP]);
		report_value("pc:", regs.pc);
		bs_put(0, '\n');
		why = report_frames(&world, &regs);
	}
	report_end(&world, &regs, why);
	k_fatal_halt(reason);
}
