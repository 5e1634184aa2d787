// RTX5 of CMSIS-RTOS2 and Mbed OS: osRtxThread_t of rtx_os.h. The low byte of EXC_RETURN is in the
// control block; a word at the end of the stack shows overflows.
#define FILL 0xcc
struct task { uint8_t id, state, flags, attributes; const char *name; struct task *next, *previous, *delay_next, *delay_previous, *join; word delay; int8_t priority, priority_base; uint8_t stack_frame, flag_options; word wait_flags, thread_flags; void *mutexes; word *stack, size, *sp; void (*entry)(void); word tz; };
enum { READY = 1, RUNNING, BLOCKED };
#define WAITS(t) (((t)->state & 15) == BLOCKED)
#define WAIT(t) ((t)->state = BLOCKED | 5 << 4) // for a semaphore
static void switched(struct task *old) { if (old->state == RUNNING) old->state = READY; current->state = RUNNING; }
static struct task *lay(const char *name, void (*f)(void), size_t size)
{
	struct task *t = get(sizeof *t); word *stack = get(size);
	*t = (struct task){ .id = 0xf1, .state = READY, .name = name, .priority = 8 + 8 * count, .priority_base = 8 + 8 * count, .stack_frame = 0xfd, .stack = stack, .size = size, .entry = f };
	fill(stack, FILL, size); *stack = 0xe25a2ea5;
	t->sp = preserved(frame(stack + size / W, f, (word)ended));
	return t;
}
