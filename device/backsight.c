/* The reader of device tables. The form is described in tables/device/doc.go.
 *
 *     pc -> table -> page -> block -> row -> rule -> caller's registers
 *
 * Nothing in a table or on a stack is believed: each index is compared with its bound, each loop
 * ends with its input, and each step goes up the stack. */
#include "backsight.h"

enum { /* the header */
	AT_SIZE = 4,
	AT_SUM = 8,
	AT_MACHINE = 12,
	AT_SHAPE = 14,
	AT_TRACKED = 15,
	AT_PAGES = 28,
	AT_BLOCKS = 30,
	AT_RULES = 32,
	AT_FORMS = 34,
	AT_BASE = 36,
	AT_UNITS = 44,
	AT_CODE_SIZE = 56,
	AT_CODE_SUM = 60,
	AT_IDENTITY = 64,
	HEADER = 88
};
enum { BLOCK = 128, RECENT = 7, FAR_RULE = 224, NO_RULE = 0xffff, MAX_TRACKED = 12, MAX_IDENTITY = 20, NULL_PAGE = 4096 };
enum { LOAD = 0x10, SIGNED = 0x20, RA_IN_REGISTER = 0x40, BELOW = 0x80 };
enum { RA_ENDS = -127, RA_UNKNOWN = -128, KEPT = -128, LOST = 127 };

/* The registers that a function finds as its caller had left them, and the stack pointer. */
#if BS_MACHINE == BS_ARM
enum { KNOWN_HERE = 0x3ff0 };
#elif BS_MACHINE == BS_MIPS
enum { KNOWN_HERE = 0x70ff };
#elif BS_MACHINE == BS_AARCH64
enum { KNOWN_HERE = 0xbff8 };
#elif BS_MACHINE == BS_RISCV
enum { KNOWN_HERE = 0x7ffa };
#elif BS_MACHINE == BS_X86_64
enum { KNOWN_HERE = 0xf0c8 };
#else
enum { KNOWN_HERE = 0xf8 };
#endif

/* Whether a call pushes its return address. */
#define CALL_PUSHES (BS_MACHINE == BS_X86_64 || BS_MACHINE == BS_I386)

#if BS_ADDRESS < BS_WORD
#define ADDRESS(a) ((a) & 0xffffffffu)
#else
#define ADDRESS(a) (a)
#endif

static const struct bs_world plain;

static uint32_t u16(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8; }

static uint32_t u32(const uint8_t *p) { return u16(p) | u16(p + 2) << 16; }

/* address_at reads an address of eight bytes, as far as the machine has them. */
static bs_word address_at(const uint8_t *p)
{
#if BS_WORD == 8
	return u32(p) | (bs_word)u32(p + 4) << 32;
#else
	return u32(p);
#endif
}

/* Where parts of a table begin. */
static uint32_t rules_at(const uint8_t *table)
{
	return HEADER + 2 * (u16(table + AT_PAGES) + 1) + 2 * u16(table + AT_BLOCKS);
}

static uint32_t forms_at(const uint8_t *table) { return rules_at(table) + 2 * u16(table + AT_RULES); }

static uint32_t form_size(const uint8_t *table) { return 4u + table[AT_TRACKED]; }

static uint32_t blocks_at(const uint8_t *table) { return forms_at(table) + form_size(table) * u16(table + AT_FORMS); }

/* fits tells whether the parts of a table end where its blocks and its size say: indexes that are below the
 * header's counts are within the table then, whichever bit of the header is another. */
static int fits(const uint8_t *table)
{
	uint32_t all = u32(table + AT_SIZE), blocks = blocks_at(table);

	return all >= blocks && (all - blocks + BLOCK - 1) / BLOCK == u16(table + AT_BLOCKS);
}

static int32_t s8(uint8_t v) { return v < 128 ? (int32_t)v : (int32_t)v - 256; }

/* A block: where a row is read, and where the block ends. */
struct block {
	const uint8_t *at, *end;
};

/* byte reads a row's next byte; 0 behind the block, whose end ends the search as well. */
static uint32_t byte(struct block *b) { return b->at < b->end ? *b->at++ : 0; }

/* find_row returns the number of the rule at so many units behind the start of a block, or one
 * that there is not. The recent rules stay in their slots; of which slot each is, the one that holds
 * first, is a digit of order, the lowest first. */
static uint32_t find_row(struct block *block, uint32_t unit)
{
	uint16_t slots[RECENT + 1];
	uint32_t i, order = 0x65432107;

	for (i = 0; i <= RECENT; i++)
		slots[i] = (uint16_t)i;
	while (block->at < block->end) {
		uint32_t code = *block->at++, length = (code & 31u) + 1, which = (code >> 5) + 1, shift, slot;
		if (which > RECENT) {
			uint32_t rule = byte(block);
			which = RECENT;
			if (rule >= FAR_RULE)
				rule = (rule - FAR_RULE) << 8 | byte(block);
			slots[order >> 4 * RECENT] = (uint16_t)rule;
		}
		shift = 4 * which;
		slot = order >> shift & RECENT;
		order = (order & ~((16u << shift) - 1)) | (order & ((1u << shift) - 1)) << 4 | slot;
		if (length == 32) {
			i = byte(block);
			length += i;
			if (i == 255) {
				length += byte(block);
				length += byte(block) << 8;
			}
		}
		if (unit < length)
			return slots[slot];
		unit -= length;
	}
	return NO_RULE;
}

/* find_block finds the block that has a unit, and how far behind the block's start the unit is. The last
 * block ends with the table. */
static int find_block(const uint8_t *table, uint32_t *unit, struct block *block)
{
	const uint8_t *pages = table + HEADER, *starts;
	uint32_t blocks = u16(table + AT_BLOCKS), page_count = u16(table + AT_PAGES);
	uint32_t page = *unit >> 16, low, high, start;

	if (page >= page_count)
		return 0;
	starts = pages + 2 * (page_count + 1);
	low = u16(pages + 2 * page);
	high = u16(pages + 2 * page + 2);
	if (high > blocks)
		return 0;
	while (low < high) { /* to the first block of the page that begins behind the unit */
		uint32_t middle = (low + high) >> 1;
		if (u16(starts + 2 * middle) <= (*unit & 0xffff))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || low > blocks)
		return 0;
	low--;
	while (page > 0 && u16(pages + 2 * page) > low)
		page--;
	start = page << 16 | u16(starts + 2 * low);
	if (start > *unit)
		return 0;
	*unit -= start;
	block->at = table + blocks_at(table) + BLOCK * low;
	block->end = low + 1 < blocks ? block->at + BLOCK : table + u32(table + AT_SIZE);
	return 1;
}

/* find_form returns the form of the rule at an address, 0 for none, and the CFA's offset. */
static const uint8_t *find_form(const uint8_t *table, bs_word at, int32_t *offset, enum bs_stop *why)
{
	const uint8_t *rule, *form;
	struct block block;
	uint32_t unit, row;

	at = ADDRESS(at - address_at(table + AT_BASE)) >> (table[AT_SHAPE] & 3);
	*why = BS_NO_TABLE;
	if (at >= u32(table + AT_UNITS))
		return 0;
	unit = (uint32_t)at;
	*why = BS_BAD_TABLE;
	if (!fits(table) || !find_block(table, &unit, &block))
		return 0;
	row = find_row(&block, unit);
	if (row >= u16(table + AT_RULES))
		return 0;
	rule = table + rules_at(table) + 2 * row;
	if (rule[0] >= u16(table + AT_FORMS))
		return 0;
	form = table + forms_at(table) + form_size(table) * rule[0];
	*offset = (s8(form[3]) * 256 + form[2]) * 256 + rule[1];
	*why = BS_NO_RULE;
	return s8(form[1]) == RA_UNKNOWN ? 0 : form;
}

int bs_load(const struct bs_world *w, bs_word at, bs_word *value)
{
	at = ADDRESS(at);
	if ((at & (BS_WORD - 1)) != 0)
		return 0;
	if (w && w->stack_high != 0 && (at < w->stack_low || at >= w->stack_high || w->stack_high - at < BS_WORD))
		return 0;
	if (w && w->read)
		return w->read(w->context, at, value);
	*value = *(const bs_word *)(uintptr_t)at;
	return 1;
}

/* code_address is a return address without signature and mode bit. */
static bs_word code_address(const struct bs_world *w, bs_word pc)
{
	if (w->code_mask != 0)
		pc &= w->code_mask;
#if defined(__aarch64__)
	else { /* XPACLRI, which processors without pointer authentication take for a NOP */
		register bs_word x30 __asm__("x30") = pc;
		__asm__("hint #7" : "+r"(x30));
		pc = x30;
	}
#endif
#if BS_MACHINE == BS_ARM || BS_MACHINE == BS_MIPS
	pc &= ~(bs_word)1;
#endif
	return ADDRESS(pc);
}

/* slot_at is where a slot lies. */
static bs_word slot_at(bs_word from, int32_t slot) { return from + (bs_word)(int64_t)slot * BS_WORD; }

/* find_cfa computes the CFA and where slots count from. */
static int find_cfa(const struct bs_world *w, const struct bs_regs *regs, const uint8_t *form, int32_t offset,
		    bs_word *cfa, bs_word *from, enum bs_stop *why)
{
	uint32_t base = form[0] & 15u;

	*why = BS_NO_REGISTER;
	if (!(regs->known >> base & 1))
		return 0;
	*why = BS_UNREADABLE;
	*cfa = slot_at(regs->r[base], offset);
	if ((form[0] & LOAD) && !bs_load(w, *cfa, cfa))
		return 0;
	*from = form[0] & BELOW ? regs->r[base] : *cfa;
	*cfa = ADDRESS(*cfa);
	*why = BS_NO_PROGRESS;
	return *cfa > ADDRESS(regs->r[BS_SP]) || (*cfa == ADDRESS(regs->r[BS_SP]) && regs->exact);
}

/* find_return reads the return address. */
static int find_return(const struct bs_world *w, const struct bs_regs *regs, const uint8_t *form, bs_word from,
		       bs_word *ra, enum bs_stop *why)
{
	*why = BS_UNREADABLE;
	if (!(form[0] & RA_IN_REGISTER))
		return bs_load(w, slot_at(from, s8(form[1])), ra);
	*why = BS_NO_REGISTER;
	*ra = regs->r[form[1] & 15];
	return regs->known >> (form[1] & 15) & 1;
}

/* restore lets the tracked registers be the caller's, and forgets the others. */
static void restore(const struct bs_world *w, struct bs_regs *regs, const uint8_t *table, const uint8_t *form, bs_word from)
{
	uint32_t i, known = 0;

	for (i = 0; i < table[AT_TRACKED] && i < MAX_TRACKED; i++) {
		uint32_t r = table[AT_TRACKED + 1 + i] & 15u;
		int32_t slot = s8(form[4 + i]);
		if (slot == KEPT)
			known |= regs->known & 1u << r;
		else if (slot != LOST && bs_load(w, slot_at(from, slot), &regs->r[r]))
			known |= 1u << r;
	}
	regs->known = (uint16_t)known;
}

/* find_rule returns the table and the form of the rule at an address, 0 for no form. */
static const uint8_t *find_rule(const struct bs_world *w, bs_word at, const uint8_t **table, int32_t *offset, enum bs_stop *why)
{
	bs_word bias = 0;

	*table = w->table ? w->table(w->context, at, &bias) : backsight_table;
	*why = BS_NO_TABLE;
	return *table ? find_form(*table, at - bias, offset, why) : 0;
}

/* find_null_call finds where a call through a null pointer, or of a member of a null object, returns to: no
 * code is there, and nothing has run since the call. What has returned to a null address has made none:
 * ARM's pop {pc} has left that address below the stack pointer, and in lr where the function's last call
 * returned to. */
static int find_null_call(const struct bs_world *w, const struct bs_regs *regs, bs_word *ra)
{
	if (!regs->exact || regs->pc >= NULL_PAGE)
		return 0;
#if CALL_PUSHES
	if (!bs_load(w, regs->r[BS_SP], ra))
		return 0;
#else
#if BS_MACHINE == BS_ARM
	if (bs_load(w, regs->r[BS_SP] - BS_WORD, ra) && code_address(w, *ra) == regs->pc)
		return 0;
#endif
	if (!(regs->known >> BS_LR & 1))
		return 0;
	*ra = regs->r[BS_LR];
#endif
	*ra = code_address(w, *ra);
	return *ra != 0;
}

/* undo_null_call lets regs be the caller's. */
static void undo_null_call(struct bs_regs *regs, bs_word ra)
{
#if CALL_PUSHES
	regs->r[BS_SP] += BS_WORD;
#else
	regs->known &= (uint16_t)~(1u << BS_LR);
#endif
	regs->pc = ra;
	regs->exact = 0;
}

int bs_step(const struct bs_world *w, struct bs_regs *regs, enum bs_stop *why)
{
	const uint8_t *table, *form;
	bs_word cfa, from, site, ra = 0;
	int32_t offset;

	if (!w)
		w = &plain;
	if (!regs->exact && w->trampoline && w->trampoline(w->context, w, regs))
		return 1;
	site = regs->pc - (regs->exact ? 0u : 1u); /* in the call: its return address may be the next function's */
	for (;;) {
		form = find_rule(w, site, &table, &offset, why);
		if (form || ra != 0 || *why != BS_NO_TABLE || !find_null_call(w, regs, &ra))
			break;
		site = ra - 1;
	}
	if (form && ra != 0)
		undo_null_call(regs, ra);
	if (!form || ra != 0)
		return form || (*why == BS_NO_TABLE && w->guess && w->guess(w->context, w, regs));
	*why = BS_ROOT;
	if (s8(form[1]) == RA_ENDS)
		return 0;
	if (!find_cfa(w, regs, form, offset, &cfa, &from, why) || !find_return(w, regs, form, from, &ra, why))
		return 0;
	restore(w, regs, table, form, from);
	regs->known |= 1u << BS_SP;
	regs->r[BS_SP] = cfa;
	regs->exact = 0;
	regs->pc = ADDRESS(ra);
	if (w->exception && w->exception(w->context, w, regs))
		return 1;
	regs->pc = code_address(w, ra);
	*why = BS_ROOT;
	return regs->pc != 0 && regs->pc != code_address(w, ~(bs_word)0);
}

int bs_unwind(const struct bs_world *w, struct bs_regs *regs, bs_word *pcs, int max, enum bs_stop *why)
{
	enum bs_stop ignored;
	int n = 0;

	if (!why)
		why = &ignored;
	while (n < max) {
		pcs[n++] = regs->pc;
		if (!bs_step(w, regs, why))
			return n;
	}
	*why = BS_LIMIT;
	return n;
}

/* sum is the CRC-32 of IEEE 802.3. */
static uint32_t sum(const uint8_t *p, size_t n)
{
	uint32_t crc = ~(uint32_t)0;
	int bit;

	for (; n > 0; n--) {
		crc ^= *p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) ? 0xedb88320u : 0u);
	}
	return ~crc;
}

int bs_check(const uint8_t *table, size_t size, const uint8_t *code)
{
	uint32_t i, all;

	if (size < HEADER || table[0] != 'b' || table[1] != 's' || table[2] != 'D' || table[3] != 2)
		return 0;
	if (u16(table + AT_MACHINE) != BS_MACHINE || 1u << (table[AT_SHAPE] >> 2 & 3) != BS_WORD || table[AT_TRACKED] > MAX_TRACKED)
		return 0;
	for (i = 0; i < table[AT_TRACKED]; i++)
		if (table[AT_TRACKED + 1 + i] > 15)
			return 0;
	all = u32(table + AT_SIZE);
	if (all > size || !fits(table) || sum(table + AT_MACHINE, all - AT_MACHINE) != u32(table + AT_SUM))
		return 0;
	return !code || sum(code, u32(table + AT_CODE_SIZE)) == u32(table + AT_CODE_SUM);
}

/* put_hex writes a number. */
static void put_hex(bs_word v, void (*put)(void *, char), void *context)
{
	int shift;

	for (shift = BS_WORD * 8 - 4; shift >= 0; shift -= 4)
		put(context, "0123456789abcdef"[v >> shift & 15]);
}

void bs_print(const bs_word *pcs, int n, const uint8_t *table, void (*put)(void *, char), void *context)
{
	const char *s = "backsight:";
	uint32_t i;

	for (; *s; s++)
		put(context, *s);
	for (; n > 0; n--, pcs++) {
		put(context, ' ');
		put(context, '0');
		put(context, 'x');
		put_hex(*pcs, put, context);
	}
	put(context, ' ');
	put(context, ' ');
	for (i = 0; table && i < table[AT_IDENTITY] && i < MAX_IDENTITY; i++) {
		put(context, "0123456789abcdef"[table[AT_IDENTITY + 1 + i] >> 4]);
		put(context, "0123456789abcdef"[table[AT_IDENTITY + 1 + i] & 15]);
	}
	put(context, '\n');
}

#if !defined(BS_NO_BACKTRACE)

/* bs_here lets regs be those of the function that bs_here becomes part of. Every register that a
 * table may track is stored by its number. */
static inline __attribute__((always_inline)) BS_STANDARD_CODE void bs_here(struct bs_regs *regs)
{
	bs_word *r = regs->r;

#if BS_MACHINE == BS_ARM && defined(__thumb__) && !defined(__thumb2__)
	__asm__ volatile("mov r0, %1\n\tadd r0, #16\n\tstmia r0!, {r4-r7}\n\tmov r1, r8\n\tmov r2, r9\n\tmov r3, r10\n\tstmia r0!, {r1-r3}\n\t"
			 "mov r1, r11\n\tmov r2, r12\n\tmov r3, sp\n\tstmia r0!, {r1-r3}\n\tmov r1, pc\n\tmov %0, r1"
			 : "=r"(regs->pc) : "r"(r) : "r0", "r1", "r2", "r3", "memory");
#elif BS_MACHINE == BS_ARM
	__asm__ volatile("add r0, %1, #16\n\tstmia r0, {r4-r12}\n\tstr sp, [%1, #52]\n\tmov %0, pc"
			 : "=&r"(regs->pc) : "r"(r) : "r0", "memory");
#elif BS_MACHINE == BS_MIPS && BS_WORD == 4
	__asm__ volatile(".set push\n\t.set noreorder\n\t.set noat\n\t"
			 "sw $16,0(%1)\n\tsw $17,4(%1)\n\tsw $18,8(%1)\n\tsw $19,12(%1)\n\tsw $20,16(%1)\n\tsw $21,20(%1)\n\tsw $22,24(%1)\n\t"
			 "sw $23,28(%1)\n\tsw $28,48(%1)\n\tsw $29,52(%1)\n\tsw $30,56(%1)\n\tbal 1f\n\tnop\n1:\tmove %0,$31\n\t.set pop"
			 : "=r"(regs->pc) : "r"(r) : "$31", "memory");
#elif BS_MACHINE == BS_MIPS
	__asm__ volatile(".set push\n\t.set noreorder\n\t.set noat\n\t"
			 "sd $16,0(%1)\n\tsd $17,8(%1)\n\tsd $18,16(%1)\n\tsd $19,24(%1)\n\tsd $20,32(%1)\n\tsd $21,40(%1)\n\tsd $22,48(%1)\n\t"
			 "sd $23,56(%1)\n\tsd $28,96(%1)\n\tsd $29,104(%1)\n\tsd $30,112(%1)\n\tbal 1f\n\tnop\n1:\tmove %0,$31\n\t.set pop"
			 : "=r"(regs->pc) : "r"(r) : "$31", "memory");
#elif BS_MACHINE == BS_AARCH64
	__asm__ volatile("stp x19,x20,[%1,#24]\n\tstp x21,x22,[%1,#40]\n\tstp x23,x24,[%1,#56]\n\tstp x25,x26,[%1,#72]\n\t"
			 "stp x27,x28,[%1,#88]\n\tstr x29,[%1,#104]\n\tmov %0,sp\n\tstr %0,[%1,#120]\n\tadr %0,."
			 : "=&r"(regs->pc) : "r"(r) : "memory");
#elif BS_MACHINE == BS_RISCV
#if BS_WORD == 8
#define S(name, n) "sd " #name "," #n "*8(%1)\n\t"
#else
#define S(name, n) "sw " #name "," #n "*4(%1)\n\t"
#endif
	__asm__ volatile(S(sp, 1) S(s0, 3) S(s1, 4) S(s2, 5) S(s3, 6) S(s4, 7) S(s5, 8) S(s6, 9) S(s7, 10) S(s8, 11) S(s9, 12)
			 S(s10, 13) S(s11, 14) "auipc %0,0"
			 : "=&r"(regs->pc) : "r"(r) : "memory");
#undef S
#elif BS_MACHINE == BS_X86_64
	__asm__ volatile("movq %%rbx,24(%1)\n\tmovq %%rbp,48(%1)\n\tmovq %%rsp,56(%1)\n\tmovq %%r12,96(%1)\n\tmovq %%r13,104(%1)\n\t"
			 "movq %%r14,112(%1)\n\tmovq %%r15,120(%1)\n\tleaq 0(%%rip),%0"
			 : "=&r"(regs->pc) : "r"(r) : "memory");
#elif BS_MACHINE == BS_I386
	__asm__ volatile("movl %%ebx,12(%1)\n\tmovl %%esp,16(%1)\n\tmovl %%ebp,20(%1)\n\tmovl %%esi,24(%1)\n\tmovl %%edi,28(%1)\n\t"
			 "call 1f\n1:\tpopl %0"
			 : "=&r"(regs->pc) : "r"(r) : "memory");
#endif
	regs->pc = code_address(&plain, regs->pc);
	regs->exact = 1;
	regs->guessed = 0;
	regs->known = KNOWN_HERE;
}

/* bs_frames is bs_backtrace in a world of its own. */
BS_STANDARD_CODE int bs_frames(const struct bs_world *w, int skip, void **pcs, int max)
{
	struct bs_regs regs;
	enum bs_stop why;
	int n = 0, certain = 1;

	bs_here(&regs);
	while (n < max && bs_step(w, &regs, &why)) {
		if (certain && regs.guessed) {
			pcs[n++] = 0;
			certain = 0;
		}
		if (skip > 0)
			skip--;
		else if (n < max)
			pcs[n++] = (void *)(uintptr_t)regs.pc;
	}
	return n;
}

int bs_backtrace(void **pcs, int max) { return bs_frames(0, 0, pcs, max); }

#endif
