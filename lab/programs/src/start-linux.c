/* Where a Linux program without a library begins and ends, with a shadow stack in the register of its ABI, and what compilers call. */
char shadow[4096] __attribute__((used, aligned(16)));
void *memcpy(void *d, const void *s, __SIZE_TYPE__ n) { volatile char *p = d; const char *q = s; while (n--) *p++ = *q++; return d; }
void *memset(void *d, int c, __SIZE_TYPE__ n) { volatile char *p = d; while (n--) *p++ = (char)c; return d; }
#if defined __aarch64__
#define START "_start"
#define BODY "adrp x18, shadow\n\tadd x18, x18, :lo12:shadow\n\tmov x29, 0\n\tmov x30, 0\n\tbl main\n\tmov x8, 94\n\tsvc 0"
#elif defined __riscv
#define START "_start"
#define BODY "lla gp, shadow\n\tli ra, 0\n\tcall main\n\tli a7, 94\n\tecall"
#elif defined __mips__
#define START "__start"
#define BODY ".set noreorder\n\tmove $31, $0\n\tjal main\n\tnop\n\tli $2, 4246\n\tsyscall\n\tnop\n\t.set reorder"
#endif
__asm__(".globl " START "\n.type " START ",%function\n" START ":\n\t" BODY "\n.size " START ", .-" START);
