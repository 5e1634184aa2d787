// Programs whose deepest path runs: work() begins it, touch() writes all of an array.
typedef long word;
#define NI __attribute__((noinline,noclone))
extern volatile int sink; extern volatile char *vp;
static inline void touch(char *p, int n) { for (int i = 0; i < n; i++) p[i] = (char)(i + sink); vp = p; asm volatile("" ::: "memory"); }
NI word work(word n);
