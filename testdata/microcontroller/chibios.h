// ChibiOS: thread_t of chobjects.h, which lies on top of its stack; main's stands elsewhere. Tasks switch
// by calls. An interrupt that another task is to follow returns to code that calls the switch.
#define FILL 0x55
struct task { struct task *next, *previous; word priority, *sp; void *registry_next, *registry_previous, *owner; const char *name; word *stack; uint8_t state, flags, refs, ticks; };
enum { READY, CURRENT, WAITING = 5 };
#define WAITS(t) ((t)->state == WAITING)
#define WAIT(t) ((t)->state = WAITING)
static void switched(struct task *old) { if (old->state == CURRENT) old->state = READY; current->state = CURRENT; }
extern char thread_start[];
static struct task *lay(const char *name, void (*f)(void), size_t size)
{
	word *stack = get(size + sizeof(struct task)); struct task *t = (struct task *)(stack + size / W);
	fill(stack, FILL, size);
	*t = (struct task){ .priority = 20 - count, .name = name, .stack = stack, .state = READY };
	word *sp = stack + size / W;
	*--sp = (word)thread_start; sp = preserved(sp); sp[0] = (word)f;
#ifdef __ARM_FP
	sp -= 16;
#endif
	t->sp = sp;
	return t;
}
