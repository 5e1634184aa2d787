/* Vector table and reset of a Cortex-M3. */
extern int main(void);
extern void on_exception(void);
extern char stack_top[];
void reset(void) { main(); for (;;) { } }
static void stop(void) { for (;;) { } }
__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
	stack_top, reset, stop, stop, stop, stop, stop, 0, 0, 0, 0, on_exception, stop, 0, stop, stop,
};
void *memcpy(void *d, const void *s, unsigned n) { char *p = d; const char *q = s; while (n--) *p++ = *q++; return d; }
void *memset(void *d, int c, unsigned n) { char *p = d; while (n--) *p++ = (char)c; return d; }
