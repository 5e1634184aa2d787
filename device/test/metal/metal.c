#include "../board.h"
#include "metal.h"

enum { MOST = 64 };

static volatile struct { /* written before depth is: an interrupt may come in between */
	void *function, *site;
} running[MOST];
static volatile int depth, samples;

void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

void __cyg_profile_func_enter(void *function, void *site)
{
	running[depth].function = function;
	running[depth].site = site;
	depth = depth + 1;
}

void __cyg_profile_func_exit(void *function, void *site)
{
	(void)function;
	(void)site;
	depth = depth - 1;
}

static void print(bs_word v)
{
	int shift;

	for (shift = BS_WORD * 8 - 4; shift >= 0; shift -= 4)
		bs_put(0, "0123456789abcdef"[v >> shift & 15]);
	bs_put(0, ' ');
}

unsigned metal_sample(const struct bs_world *world, struct bs_regs *regs)
{
	static bs_word pcs[MOST];
	enum bs_stop why;
	int i, n = bs_unwind(world, regs, pcs, MOST, &why);

	for (i = 0; i < n; i++)
		print(pcs[i]);
	bs_put(0, ':');
	bs_put(0, ' ');
	for (i = depth - 1; i >= 0; i--) {
		print((bs_word)running[i].site & ~(bs_word)1);
		print((bs_word)running[i].function & ~(bs_word)1);
	}
	bs_put(0, '\n');
	if (samples + 1 == SAMPLES)
		bs_end();
	samples = samples + 1;
	return 40u + (unsigned)samples * 7919u % 611u;
}

void metal_run(void)
{
	int n = 0;

	metal_start();
	for (;;)
		work(n++);
}
