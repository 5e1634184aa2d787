// FreeRTOS: tskTCB of tasks.c. RT-Thread: struct rt_thread of rtdef.h.
#if RTOS == FREERTOS
#ifdef SINCE11 // several processors, and words that show the integrity of lists
struct item { word check; word value; void *next, *previous, *owner, *container; word check_too; };
struct task { word *sp; word affinity; struct item state, event; word priority, *stack; intptr_t runs; word attributes; char name[16]; };
static struct { word words[8]; } ready[8]; // lists of tasks, by priority
#else
struct item { word value; void *next, *previous, *owner, *container; };
struct task { word *sp; struct item state, event; word priority, *stack; char name[16]; };
static struct { word words[5]; } ready[8];
#endif
#else
struct task { char name[8]; uint8_t type, flags; void *list[2], *tlist[2]; word *sp; void *entry, *parameter; word *stack; uint32_t size; word error; uint8_t status, priority, first; uint32_t bit; };
#endif
#define SP_AT offsetof(struct task, sp)
static struct task *tasks[8]; static unsigned count; struct task *volatile current; static volatile unsigned ticks;
static char heap[12 << 10] __attribute__((aligned(16))); static size_t heap_at;
// A block of FreeRTOS' heap_4: the next free one, the size with the highest bit set.
static void *get(size_t n) { n = (n + 2 * W + 15) & ~(size_t)15; word *b = (word *)(heap + heap_at); heap_at += n; b[0] = 0; b[1] = n | (word)1 << (8 * W - 1); return b + 2; }
#ifdef SINCE11
static struct { word words[8]; } timed, *delayed __attribute__((used)) = &timed;
#define WAITS(t) ((t)->state.container == &timed)
#define WAIT(t) ((t)->state.container = &timed)
NI void pick(void)
{
	unsigned i = 0;
	while (tasks[i] != current) i++;
	do i = (i + 1) % count; while (WAITS(tasks[i]));
	current->runs = -1; current = tasks[i]; current->runs = 0;
}
#else
#define WAIT(t)
NI void pick(void) { unsigned i = 0; while (tasks[i] != current) i++; current = tasks[(i + 1) % count]; }
#endif
static void ended(void) { for (;;) {} }

static struct task *create(const char *name, void (*f)(void), size_t size)
{
#ifdef SINCE11
	get(64 * W); // what an overflow destroys
#endif
	word *stack = get(size); fill(stack, RTOS == FREERTOS ? 0xa5 : '#', size);
	struct task *t = get(sizeof *t); fill(t, 0, sizeof *t);
	for (unsigned i = 0; name[i]; i++) t->name[i] = name[i];
	word *sp = (word *)(((word)stack + size - W) & ~(word)15);
#ifdef CORTEX_M
	*--sp = 1 << 24; *--sp = (word)f & ~1u; *--sp = (word)ended; sp -= 5;
#if __ARM_ARCH >= 8
	sp -= 8;
	if (RTOS == FREERTOS) { *--sp = 0xfffffffd; *--sp = 0; } else { *--sp = 2; *--sp = 0; *--sp = 0xfffffffd; *--sp = 0; }
#elif RTOS == FREERTOS
#ifdef __ARM_FP
	*--sp = 0xfffffffd;
#endif
	sp -= 8;
#else
	sp -= 8;
#ifdef __ARM_FP
	*--sp = 0;
#endif
#endif
#if RTOS == FREERTOS && defined SINCE11
	*--sp = 0xfffffffd;
#endif
#elif defined __arm__
#if RTOS == FREERTOS // CPSR, PC, LR, r0-r12, the nesting, whether there are floating-point registers
	*--sp = 0x1f; *--sp = (word)f; *--sp = (word)ended; sp -= 15; fill(sp, 0, 15 * W);
#else
	*--sp = (word)f; *--sp = (word)ended; sp -= 14; fill(sp, 0, 14 * W); sp[0] = 0x13;
#endif
#elif defined __mips__
	sp -= 33; fill(sp, 0, 33 * W); sp[30] = (word)ended; sp[31] = (word)f; sp[32] = 0x20008103;
#elif RTOS == FREERTOS && defined SINCE11 // mstatus behind the address
	sp -= 31; fill(sp, 0, 31 * W); sp[0] = (word)f; sp[1] = 0x1880;
#else
	sp -= RTOS == FREERTOS ? 31 : 32; fill(sp, 0, (RTOS == FREERTOS ? 31 : 32) * W); sp[0] = (word)f; sp[1] = RTOS == FREERTOS ? 0 : (word)ended; sp[RTOS == FREERTOS ? 30 : 2] = 0x1880;
#endif
	t->sp = sp; t->stack = stack;
#if RTOS == FREERTOS
	t->state.owner = t->event.owner = t; t->priority = count; t->event.value = 8 - count; t->state.container = &ready[count];
#ifdef SINCE11
	t->runs = count ? -1 : 0; t->affinity = 1; t->state.check = t->state.check_too = t->event.check = t->event.check_too = 0x5a5a5a5a;
#endif
#else
	t->entry = f; t->size = size; t->status = 1; t->priority = t->first = 20 - count; t->bit = 1u << t->priority;
#endif
	return tasks[count++] = t;
}
