// NuttX: struct tcb_s of nuttx/sched.h, whose functions nxtask_start calls. The context is on the stack,
// with SP as it was before as its first word; g_tcbinfo tells debuggers where fields lie.
#define FILL 0
struct task { struct task *next, *previous; void *group; int pid; uint8_t priority, first_priority; void (*start)(void), (*entry)(void); uint8_t state; unsigned flags; word size; void *allocated; word *stack; void *deliver; word *saved, *sp; char name[32]; };
enum { READY = 2, RUNNING, WAITING = 5 };
#define WAITS(t) ((t)->state == WAITING)
#define WAIT(t) ((t)->state = WAITING)
struct { struct task *head, *tail; } g_readytorun __attribute__((used));
const struct { uint16_t pid, state, priority, name, regs, basic, total; } __attribute__((packed)) g_tcbinfo __attribute__((used)) = { offsetof(struct task, pid), offsetof(struct task, state), offsetof(struct task, priority), offsetof(struct task, name), offsetof(struct task, sp), 17, 17 };
static void switched(struct task *old)
{
	if (old->state == RUNNING) old->state = READY;
	current->state = RUNNING; current->previous = 0; g_readytorun.head = g_readytorun.tail = current;
	for (unsigned i = 0; i < count; i++)
		if (tasks[i] != current && !WAITS(tasks[i])) { tasks[i]->previous = g_readytorun.tail; g_readytorun.tail->next = tasks[i]; g_readytorun.tail = tasks[i]; }
	g_readytorun.tail->next = 0;
}
NI static void nxtask_start(void) { current->entry(); for (;;) {} }
static struct task *lay(const char *name, void (*f)(void), size_t size)
{
	struct task *t = get(sizeof *t); char *memory = get(size + 48); word *stack = (word *)(memory + 48), *top = stack + size / W; // the thread's own data first
	*t = (struct task){ .pid = count, .priority = 50 + 10 * count, .first_priority = 50 + 10 * count, .start = nxtask_start, .entry = f, .state = READY, .size = size, .allocated = memory, .stack = stack };
	for (unsigned i = 0; name[i]; i++) t->name[i] = name[i];
	for (uint32_t *p = (uint32_t *)stack; p < (uint32_t *)top; p++) *p = 0xdeadbeef;
#ifdef CORTEX_M
	word *sp = frame(top, nxtask_start, 0);
#ifdef __ARM_FP
	sp -= 16;
#endif
	*--sp = 0xfffffffd; *--sp = 2; sp = preserved(sp); *--sp = 0; *--sp = (word)top;
#else
	word *sp = top - 36; fill(sp, 0, 36 * W); sp[0] = (word)nxtask_start; sp[2] = (word)top; sp[27] = 0x9000 + count; sp[32] = 0x1880;
#endif
	t->sp = sp;
	return t;
}
