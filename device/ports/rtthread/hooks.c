#include "hooks.h"

#include "threads.h"
#include "../hooks.h"

#if BS_MACHINE == BS_ARM
#include "../cortexm/fault.h"

#if defined(__ARM_ARCH_8M_MAIN__) || defined(__ARM_ARCH_8_1M_MAIN__)
#define PORT BS_RTTHREAD_M33
#elif defined(__ARM_FP)
#define PORT BS_RTTHREAD_FLAG
#else
#define PORT BS_RTTHREAD_M3
#endif

rt_err_t bs_rtthread_exception(void *context)
{
	static struct bs_fault fault;
	const uint32_t *words = context;
	int i;

	fault.exc_return = *words++;
#if defined(__ARM_FP)
	words++;
#endif
	for (i = 0; i < 8; i++)
		fault.r4[i] = *words++;
	fault.msp = fault.psp = (uint32_t)(uintptr_t)words;
	bs_fault(&fault);
}
#else
#define PORT BS_RTTHREAD_RISCV
#endif

/* The thread that has overflown, of which RT-Thread already says that it does not run. */
static const struct rt_thread *overflown;

static bs_word running(void) { return (bs_word)(uintptr_t)(overflown ? overflown : rt_thread_self()); }

void bs_rtthread_switch(struct rt_thread *from, struct rt_thread *to)
{
	const char *low = from->stack_addr;

	(void)to;
	if (*low != '#' || (rt_interrupt_get_nest() == 0 && (const char *)__builtin_frame_address(0) < low)) {
		overflown = from;
		__builtin_trap();
	}
}

void bs_rtthread_assert(const char *expression, const char *function, rt_size_t line)
{
	(void)expression;
	(void)function;
	(void)line;
	__builtin_trap();
}

const char *bs_thread(void)
{
	const struct rt_object *self = (const struct rt_object *)running();

	return self ? self->name : "";
}

int bs_task(const struct bs_world *world, uint32_t i, struct bs_regs *regs, bs_word *name)
{
	const rt_list_t *list = &rt_object_get_information(RT_Object_Class_Thread)->object_list;
	bs_word at = (bs_word)(uintptr_t)list, thread, sp;
	int n;

	for (n = 0; n < 256; n++) {
		if (!bs_load(world, at + offsetof(rt_list_t, next), &at) || at == (bs_word)(uintptr_t)list)
			return 0;
		thread = at - offsetof(struct rt_object, list);
		if (thread == running() || i-- > 0)
			continue;
		*name = (bs_word)(uintptr_t)((struct rt_object *)(uintptr_t)thread)->name;
		if (!bs_load(world, thread + offsetof(struct rt_thread, sp), &sp) || !bs_rtthread_task(world, sp, PORT, regs))
			regs->known = 0;
		return 1;
	}
	return 0;
}
