#include "dump.h"

enum { SP, PC, LR, CAUSE, MAGIC = 0x31527362, LINE = 42 };

static struct bs_record now = {.magic = MAGIC, .machine = BS_DUMP_MACHINE, .size = sizeof(uintptr_t)};

static uint32_t size_of(const struct bs_record *r) { return (uint32_t)sizeof *r + r->stack + r->other; }

/* One that is stored has its stacks behind it. */
static uint8_t byte_at(const struct bs_record *r, uint32_t i)
{
	if (i < sizeof *r || r != &now)
		return ((const uint8_t *)r)[i];
	i -= (uint32_t)sizeof *r;
	return i < r->stack ? ((const uint8_t *)r->r[SP])[i] : ((const uint8_t *)r->at)[i - r->stack];
}

static uint32_t sum(uint32_t crc, uint32_t b)
{
	for (crc ^= b, b = 8; b > 0; b--)
		crc = crc >> 1 ^ ((crc & 1) ? 0xedb88320u : 0u);
	return crc;
}

static uint32_t sum_of(const struct bs_record *r)
{
	uint32_t crc = ~(uint32_t)0;

	for (uint32_t i = 8; i < size_of(r); i++)
		crc = sum(crc, byte_at(r, i));
	return ~crc;
}

/* room is how many bytes can be read at an address. */
static uint16_t room(uintptr_t sp)
{
	uintptr_t high = bs_ram_high ? (uintptr_t)bs_ram_high : BS_DUMP_END(sp);

	if (sp == 0 || sp % sizeof sp != 0 || sp < (uintptr_t)bs_ram_low || sp >= high)
		return 0;
	return (uint16_t)(high - sp < BS_DUMP_STACK ? high - sp : BS_DUMP_STACK);
}

/* fill completes the record now. What comes here again has failed at a stack: it has registers only. */
static void fill(const char *name, const void *task)
{
	static volatile uint8_t depth;
	uint32_t i;

	now.kind = task ? BS_DUMP_TASK | BS_DUMP_KIND : BS_DUMP_KIND;
	now.at = (uintptr_t)task;
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
	__asm__ volatile("mrs %0, xpsr\n\tmrs %1, psp" : "=r"(now.r[CAUSE]), "=r"(now.r[CAUSE + 1]));
	if (!task && (now.r[CAUSE] & 0x1ff)) /* in a handler */
		now.at = now.r[CAUSE + 1];
	for (i = 0; i < 5; i++) /* CFSR, HFSR, DFSR, MMFAR, BFAR; 0 in Armv6-M */
		now.r[CAUSE + 2 + i] = ((const volatile uint32_t *)0xe000ed28)[i];
	if ((now.r[CAUSE] & 0x1fe) == 2)                    /* NMI, HardFault: */
		*(volatile uint32_t *)0xe000ed14 |= 1 << 8; /* bus faults are ignored from here on (CCR.BFHFNMIGN) */
	now.r[CAUSE] |= 1 << 24;                            /* T, which MRS reads as 0 */
#elif defined(__riscv) && !defined(__linux__)
	__asm__ volatile(BS_DUMP_ZICSR "csrr %0, mepc\n\tcsrr %1, mcause\n\tcsrr %2, mtval\n\tcsrr %3, mstatus"
			 : "=r"(now.r[CAUSE]), "=r"(now.r[CAUSE + 1]), "=r"(now.r[CAUSE + 2]), "=r"(now.r[CAUSE + 3]));
#endif
	now.stack = task || depth ? 0 : room(now.r[SP]);
	now.other = depth++ ? 0 : room(now.at);
	for (i = 0; i < sizeof now.name; i++)
		now.name[i] = name && *name ? (uint8_t)*name++ : 0;
	if (bs_build_id && bs_build_id[0] == 4 && bs_build_id[1] <= sizeof now.build && bs_build_id[2] == 3)
		for (i = 0; i < bs_build_id[1]; now.build_size = (uint8_t)++i)
			now.build[i] = ((const uint8_t *)(bs_build_id + 4))[i];
	now.sum = sum_of(&now);
	depth = 0;
}

static uint32_t put(uint32_t crc, char c)
{
	bs_put(0, c);
	return sum(crc, (uint8_t)c);
}

static uint32_t put_hex(uint32_t crc, uint32_t v, int digits)
{
	for (; digits > 0; digits--)
		crc = put(crc, "0123456789abcdef"[v >> 4 * (digits - 1) & 15]);
	return put(crc, ' ');
}

/* print_line prints "bsR1 SUM OFFSET BASE64 CRC", with the record's sum and the line's. */
static void print_line(const struct bs_record *r, uint32_t from)
{
	uint32_t i, k, three, crc = ~(uint32_t)0, end = size_of(r) < from + LINE ? size_of(r) : from + LINE;

	crc = put(put(put(put(put(crc, 'b'), 's'), 'R'), '1'), ' ');
	crc = put_hex(put_hex(crc, r->sum, 4), from, 4);
	for (i = from; i < end; i += 3) {
		for (three = 0, k = 0; k < 3; k++)
			three = three << 8 | (i + k < end ? byte_at(r, i + k) : 0u);
		for (k = 0; k < 4 && i + k <= end; k++)
			crc = put(crc, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[three >> (18 - 6 * k) & 63]);
	}
	put_hex(0, ~put(crc, ' '), 8);
	bs_put(0, '\n');
}

/* print prints a record, and the first line again: without it the others cannot be read. */
static void print(const struct bs_record *r)
{
	for (uint32_t at = 0; at < size_of(r); at += LINE)
		print_line(r, at);
	print_line(r, 0);
}

void bs_dump(void)
{
	__builtin_unwind_init(); /* all registers that functions keep are in this frame */
	BS_DUMP_HERE(now.r);
	fill(0, 0);
	print(&now);
	__asm__ volatile(""); /* no jump to print: this frame stays */
}

void bs_dump_task(const char *name, const void *sp)
{
	fill(name, sp);
	print(&now);
}

size_t bs_store(void *to, size_t size)
{
	uint32_t i;

	__builtin_unwind_init();
	BS_DUMP_HERE(now.r);
	fill(0, 0);
	for (i = 0; size >= size_of(&now) && i < size_of(&now); i++)
		((uint8_t *)to)[i] = byte_at(&now, i);
	return i;
}

int bs_print_record(const void *record)
{
	const struct bs_record *r = record;

	int whole = r->magic == MAGIC && r->stack <= BS_DUMP_STACK && r->other <= BS_DUMP_STACK && sum_of(r) == r->sum;

	if (whole)
		print(r);
	return whole;
}
