/* RT-Thread's hooks. Compile rtthread/*.c and the port of the processor. On Cortex-M HardFault_Handler is RT-Thread's
 * (-DBS_NO_HARDFAULT), which calls a hook:
 *
 *     rt_hw_exception_install(bs_rtthread_exception);
 *     rt_scheduler_sethook(bs_rtthread_switch);          with RT_USING_HOOK
 *     rt_assert_set_hook(bs_rtthread_assert);            with RT_DEBUG
 *
 * On RISC-V give bs_riscv_entry to mtvec, or report in the board's handle_trap(cause, epc, context), which has saved all registers but sp:
 *
 *     context[2] = (rt_ubase_t)(context + 32);
 *     bs_riscv_report(context, epc); */
#ifndef BACKSIGHT_RTTHREAD_HOOKS_H
#define BACKSIGHT_RTTHREAD_HOOKS_H

#include <rtthread.h>

/* bs_rtthread_exception is for rt_hw_exception_install: context begins with EXC_RETURN, behind which r4 to r11 are saved (and a
 * word before them with floating point), then what the processor has pushed. It reports, and ends in bs_end. */
rt_err_t bs_rtthread_exception(void *context);

/* bs_rtthread_switch fails where a thread that is left has overwritten the end of its stack: RT-Thread's own check halts
 * without a word to any hook. */
void bs_rtthread_switch(struct rt_thread *from, struct rt_thread *to);

/* bs_rtthread_assert fails, so that the handler of faults reports. */
void bs_rtthread_assert(const char *expression, const char *function, rt_size_t line);

#endif
