#include "tx_api.h"

#include "threads.h"
#include "../hooks.h"

extern TX_THREAD *_tx_thread_created_ptr, *volatile _tx_thread_current_ptr;

const char *bs_thread(void) { return _tx_thread_current_ptr ? _tx_thread_current_ptr->tx_thread_name : ""; }

int bs_task(const struct bs_world *world, uint32_t i, struct bs_regs *regs, bs_word *name)
{
	bs_word first = (bs_word)(uintptr_t)_tx_thread_created_ptr, at = first, sp;
	int n;

	for (n = 0; n < 256 && at != 0; n++) {
		if (at != (bs_word)(uintptr_t)_tx_thread_current_ptr && i-- == 0) {
			if (!bs_load(world, at + offsetof(TX_THREAD, tx_thread_name), name))
				*name = 0;
			if (!bs_load(world, at + offsetof(TX_THREAD, tx_thread_stack_ptr), &sp) || !bs_threadx_task(world, sp, regs))
				regs->known = 0;
			return 1;
		}
		if (!bs_load(world, at + offsetof(TX_THREAD, tx_thread_created_next), &at) || at == first)
			return 0;
	}
	return 0;
}
