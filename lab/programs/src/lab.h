/* What the laboratory's programs share. Optimisers may reorder, merge and tail-call, but not remove. */
#define NOINLINE __attribute__((noinline))
#define NORETURN __attribute__((noinline, noreturn))

extern volatile int sink;
#ifdef __cplusplus
extern "C"
#endif
void fill(void *p, int n, int v);
