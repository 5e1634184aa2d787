/* The tasks of FreeRTOS in a report: its tasks.c, in which alone its lists can be seen, includes this file where FreeRTOSConfig.h
 * defines configINCLUDE_FREERTOS_TASK_C_ADDITIONS_H as 1 and this folder is among those of includes. */
#include "tasks.h"
#include "../hooks.h"

/* bs_listed is the task that is the i-th of a list but the one that runs; 0: the list has no more than were taken from i. */
static bs_word bs_listed(const struct bs_world *world, const List_t *list, uint32_t *i)
{
	bs_word end = (bs_word)(uintptr_t)&list->xListEnd, item = end, task;
	int n;

	for (n = 0; n < 256; n++) {
		if (!bs_load(world, item + offsetof(ListItem_t, pxNext), &item) || item == end ||
		    !bs_load(world, item + offsetof(ListItem_t, pvOwner), &task))
			return 0;
		if (task != (bs_word)(uintptr_t)pxCurrentTCB && (*i)-- == 0)
			return task;
	}
	return 0;
}

const char *bs_thread(void) { return pxCurrentTCB ? pxCurrentTCB->pcTaskName : ""; }

int bs_task(const struct bs_world *world, uint32_t i, struct bs_regs *regs, bs_word *name)
{
	const List_t *others[] = {
		&xDelayedTaskList1, &xDelayedTaskList2, &xPendingReadyList,
#if INCLUDE_vTaskSuspend == 1
		&xSuspendedTaskList,
#endif
	};
	bs_word task = 0, top;
	unsigned n;

	for (n = 0; n < configMAX_PRIORITIES && !task; n++)
		task = bs_listed(world, &pxReadyTasksLists[n], &i);
	for (n = 0; n < sizeof others / sizeof *others && !task; n++)
		task = bs_listed(world, others[n], &i);
	*name = task + offsetof(TCB_t, pcTaskName);
	if (!task || !bs_load(world, task, &top) || !bs_freertos_task(world, top, BS_FREERTOS_PORT, regs))
		regs->known = 0;
	return task != 0;
}

/* Whether a walk has ended where the port switches tasks: on RISC-V its entry of traps calls with SP at the top of its own stack
 * (portASM.S); on Cortex-M but M3, EXC_RETURN is nowhere on the handler's stack. */
#if defined(__riscv)
extern const StackType_t xISRStackTop;
#define BS_SWITCHES(regs) ((regs)->r[BS_SP] == (bs_word)xISRStackTop)
#elif BS_FREERTOS_PORT >= BS_FREERTOS_CM0
extern void PendSV_Handler(void);
#define BS_SWITCHES(regs) ((regs)->pc - ((bs_word)(uintptr_t)PendSV_Handler & ~(bs_word)1) < 128)
#else
extern void xPortPendSVHandler(void);
#define BS_SWITCHES(regs) ((regs)->pc - ((bs_word)(uintptr_t)xPortPendSVHandler & ~(bs_word)1) < 128)
#endif

/* The registers of the task that was interrupted have been saved on its stack before anything is called. The kernel may have chosen
 * another task meanwhile: a guess. */
int bs_interrupted(const struct bs_world *world, struct bs_regs *regs)
{
	bs_word top;

	if (!pxCurrentTCB || !BS_SWITCHES(regs) || !bs_load(world, (bs_word)(uintptr_t)pxCurrentTCB, &top) ||
	    !bs_freertos_task(world, top, BS_FREERTOS_PORT, regs))
		return 0;
	regs->guessed = 1;
	return 1;
}
