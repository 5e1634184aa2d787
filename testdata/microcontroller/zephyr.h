// Zephyr: struct k_thread of kernel/thread.h, whose functions z_thread_entry calls. The registers that
// calls keep are in the control block; _kernel_thread_info_offsets tells debuggers where fields lie.
#define FILL 0xaa
struct node { struct node *next, *previous; };
struct task {
	struct node node; void *pended; uint8_t options, state; int8_t priority; uint8_t locked; word order; void *swap_data; struct { struct node node; void *fn; uint64_t ticks; } timeout;
#ifdef CORTEX_M
	word registers[8]; word *sp;
#else
	word *sp, ra, registers[12];
#endif
	void *data; struct node joining; void *entry, *parameters[3]; struct task *next_thread; char name[32]; word *stack; size_t size, delta; void *pool;
#ifdef CORTEX_M
	word basepri, swap_value, floats[16]; uint8_t mode, exc_return;
#else
	word swap_value;
#endif
};
enum { PENDING = 2, QUEUED = 0x80 };
#define WAITS(t) ((t)->state & PENDING)
#define WAIT(t) ((t)->state = PENDING)
static struct node semaphore = { &semaphore, &semaphore };
struct { word nested; void *irq_stack; struct task *current, *idle; struct task *cache; struct node ready; struct task *threads; } _kernel __attribute__((used));
#define NONE 0xffffffffu
const size_t _kernel_thread_info_offsets[] __attribute__((used)) = { 1, 2 * W, offsetof(__typeof__(_kernel), threads), offsetof(struct task, entry), offsetof(struct task, next_thread), offsetof(struct task, state), offsetof(struct task, options), offsetof(struct task, priority), offsetof(struct task, sp), offsetof(struct task, name),
#ifdef CORTEX_M
	offsetof(struct task, basepri), offsetof(struct task, floats), NONE, offsetof(struct task, exc_return),
#else
	offsetof(struct task, swap_value), NONE, NONE, NONE,
#endif
};
static void enlist(struct node *list, struct node *n) { n->next = list; n->previous = list->previous; list->previous->next = n; list->previous = n; }
static void switched(struct task *old)
{
	(void)old; _kernel.current = _kernel.cache = current;
	_kernel.ready.next = _kernel.ready.previous = &_kernel.ready; semaphore.next = semaphore.previous = &semaphore;
	for (unsigned i = 0; i < count; i++) { enlist(WAITS(tasks[i]) ? &semaphore : &_kernel.ready, &tasks[i]->node); tasks[i]->pended = WAITS(tasks[i]) ? &semaphore : 0; }
}
NI static void z_thread_entry(void) { ((void (*)(void))current->entry)(); for (;;) {} }
#ifndef CORTEX_M
extern char thread_start[];
#endif
static struct task blocks[8]; // no word lies between the stacks
static struct task *lay(const char *name, void (*f)(void), size_t size)
{
	struct task *t = &blocks[count]; word *stack = get(size);
	*t = (struct task){ .state = QUEUED, .priority = 10 - count, .entry = f, .stack = stack, .size = size, .next_thread = _kernel.threads };
	_kernel.threads = t;
	for (unsigned i = 0; name[i]; i++) t->name[i] = name[i];
	fill(stack, FILL, size);
#ifdef CORTEX_M
	t->sp = frame(stack + size / W, z_thread_entry, 0); t->exc_return = 0xfd; preserved(t->registers + 8);
#else
	t->sp = stack + size / W - 20; fill(t->sp, 0, 20 * W); t->sp[17] = (word)z_thread_entry; t->sp[18] = 0x1880; t->ra = (word)thread_start; t->registers[11] = 0x9000 + count;
#endif
	return t;
}
