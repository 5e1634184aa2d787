// ThreadX: TX_THREAD of tx_api.h, whose functions a shell calls; contexts are pushed whole, with LR
// at the lowest address.
#define FILL 0xef
struct task { word id, runs, *sp; char *stack, *stack_end; word size, slice, new_slice; struct task *next, *previous; const char *name; unsigned priority, state, delayed, suspending, threshold; void *hook; void (*entry)(void); };
enum { READY, SUSPENDED = 6 };
#define WAITS(t) ((t)->state == SUSPENDED)
#define WAIT(t) ((t)->state = SUSPENDED)
static void switched(struct task *old) { (void)old; current->runs++; }
NI static void shell(void) { current->entry(); for (;;) {} }
static struct task *lay(const char *name, void (*f)(void), size_t size)
{
	struct task *t = get(sizeof *t); char *stack = get(size);
	*t = (struct task){ .id = 0x54485244, .stack = stack, .stack_end = stack + size - 1, .size = size, .name = name, .priority = 20 - count, .threshold = 20 - count, .entry = f };
	fill(stack, FILL, size);
	word *sp = preserved(frame((word *)(stack + size), shell, (word)-1));
	*--sp = 0xfffffffd;
	t->sp = sp;
	return t;
}
