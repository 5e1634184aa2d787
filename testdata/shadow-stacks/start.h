/* A program without a C library. Its start makes the pointer to the shadow stack, which is the
 * C library's task elsewhere (bionic), and the boot code's in a kernel. */
char shadow[4096] __attribute__((aligned(4096)));
int run(int n);

__attribute__((naked, no_sanitize("shadow-call-stack"))) void _start(void)
{
#ifdef __aarch64__
	__asm__("adrp x18, shadow\n add x18, x18, :lo12:shadow\n mov x29, #0\n mov x30, #0\n"
		"mov w0, #8\n bl run\n mov x8, #93\n svc #0");
#else
	__asm__("lla gp, shadow\n li ra, 0\n li s0, 0\n li a0, 8\n call run\n li a7, 93\n ecall");
#endif
}

#define NOINLINE __attribute__((noinline)) static
