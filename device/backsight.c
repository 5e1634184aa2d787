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

/* unpack writes the rule that a form is, but for the low part of the CFA's offset. Registers that the table does not
 * track are lost. */
static void unpack(const uint8_t *table, const uint8_t *form, struct bs_rule *rule)
{
	uint32_t i;

	rule->base = form[0] & 15u;
	rule->flags = (uint8_t)((form[0] & LOAD ? BS_LOAD : 0) | (form[0] & BELOW ? BS_BELOW | BS_RA_BELOW : 0) |
				(form[0] & RA_IN_REGISTER ? BS_RA_REGISTER : 0) | (s8(form[1]) == RA_ENDS ? BS_OUTERMOST : 0));
	rule->ra = (int16_t)s8(form[1]);
	rule->offset = (s8(form[3]) * 256 + form[2]) * 256;
	for (i = 0; i < 16; i++)
		rule->slot[i] = BS_LOST;
	for (i = 0; i < table[AT_TRACKED] && i < MAX_TRACKED; i++) {
		int32_t slot = s8(form[4 + i]);
		rule->slot[table[AT_TRACKED + 1 + i] & 15] = (int16_t)(slot == KEPT ? BS_KEPT : slot == LOST ? BS_LOST : slot);
	}
}

int bs_table_rule(const uint8_t *table, bs_word at, struct bs_rule *rule, enum bs_stop *why)
{
	const uint8_t *entry, *form;
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
	entry = table + rules_at(table) + 2 * row;
	if (entry[0] >= u16(table + AT_FORMS))
		return 0;
	form = table + forms_at(table) + form_size(table) * entry[0];
	*why = BS_NO_RULE;
	if (s8(form[1]) == RA_UNKNOWN)
		return 0;
	unpack(table, form, rule);
	rule->offset += entry[1];
	return 1;
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

/* find_cfa computes the CFA. */
static int find_cfa(const struct bs_world *w, const struct bs_regs *regs, const struct bs_rule *rule, bs_word *cfa, enum bs_stop *why)
{
	*why = BS_NO_REGISTER;
	if (!(regs->known >> rule->base & 1))
		return 0;
	*why = BS_UNREADABLE;
	*cfa = slot_at(regs->r[rule->base], rule->offset);
	if ((rule->flags & BS_LOAD) && !bs_load(w, *cfa, cfa))
		return 0;
	*cfa = ADDRESS(*cfa);
	*why = BS_NO_PROGRESS;
	return *cfa > ADDRESS(regs->r[BS_SP]) || (*cfa == ADDRESS(regs->r[BS_SP]) && regs->exact);
}

/* find_return reads the return address. */
static int find_return(const struct bs_world *w, const struct bs_regs *regs, const struct bs_rule *rule, bs_word cfa,
		       bs_word *ra, enum bs_stop *why)
{
	*why = BS_UNREADABLE;
	if (!(rule->flags & BS_RA_REGISTER))
		return bs_load(w, slot_at(rule->flags & BS_RA_BELOW ? regs->r[rule->base] : cfa, rule->ra), ra);
	*why = BS_NO_REGISTER;
	*ra = regs->r[rule->ra & 15];
	return regs->known >> (rule->ra & 15) & 1;
}

/* restore lets the registers be the caller's, and forgets those that nothing has. */
static void restore(const struct bs_world *w, struct bs_regs *regs, const struct bs_rule *rule, bs_word cfa)
{
	bs_word from = rule->flags & BS_BELOW ? regs->r[rule->base] : cfa;
	uint32_t i, known = 0;

	for (i = 0; i < 16; i++) {
		int32_t slot = rule->slot[i];
		if (slot == BS_LOST)
			continue;
		if (slot == BS_KEPT)
			known |= regs->known & 1u << i;
		else if (bs_load(w, slot_at(from, slot), &regs->r[i]))
			known |= 1u << i;
	}
	regs->known = (uint16_t)(known | 1u << BS_SP);
	regs->r[BS_SP] = cfa;
}

/* find_rule finds the rule at an address. */
static int find_rule(const struct bs_world *w, bs_word at, int exact, struct bs_rule *rule, enum bs_stop *why)
{
	const uint8_t *table;
	bs_word bias = 0;

	if (w->rule)
		return w->rule(w->context, w, at, exact, rule, why);
	table = w->table ? w->table(w->context, at, &bias) : backsight_table;
	*why = BS_NO_TABLE;
	return table && bs_table_rule(table, at - bias, rule, why);
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
	struct bs_rule rule;
	bs_word cfa, site, ra = 0;
	int found;

	if (!w)
		w = &plain;
	if (!regs->exact && w->trampoline && w->trampoline(w->context, w, regs))
		return 1;
	site = regs->pc - (regs->exact ? 0u : 1u); /* in the call: its return address may be the next function's */
	for (;;) {
		found = find_rule(w, site, regs->exact && ra == 0, &rule, why);
		if (found || ra != 0 || *why != BS_NO_TABLE || !find_null_call(w, regs, &ra))
			break;
		site = ra - 1;
	}
	if (found && ra != 0)
		undo_null_call(regs, ra);
	if (!found || ra != 0)
		return found || (w->guess && w->guess(w->context, w, regs));
	*why = BS_ROOT;
	if (rule.flags & BS_OUTERMOST)
		return 0;
	if (!find_cfa(w, regs, &rule, &cfa, why) || !find_return(w, regs, &rule, cfa, &ra, why))
		return 0;
	restore(w, regs, &rule, cfa);
	regs->exact = 0;
	regs->guessed |= (rule.flags & BS_GUESSED) != 0;
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

/* Four bits at a time. */
uint32_t bs_sum(const uint8_t *p, size_t n)
{
	static const uint32_t four[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4, 0x4db26158, 0x5005713c,
					  0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c, 0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};
	uint32_t crc = ~(uint32_t)0;

	for (; n > 0; n--) {
		crc ^= *p++;
		crc = crc >> 4 ^ four[crc & 15];
		crc = crc >> 4 ^ four[crc & 15];
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
	if (all > size || !fits(table) || bs_sum(table + AT_MACHINE, all - AT_MACHINE) != u32(table + AT_SUM))
		return 0;
	return !code || bs_sum(code, u32(table + AT_CODE_SIZE)) == u32(table + AT_CODE_SUM);
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

#include "entry.h"

/* What an entry has stored: registers by number and, in pc, where it returns to. */
static void entered(struct bs_regs *regs)
{
	regs->pc = code_address(&plain, regs->pc);
	regs->exact = 0;
	regs->guessed = 0;
	regs->known = BS_PRESERVED | 1u << BS_SP;
}

BS_ENTERED int bs_frames_from(const struct bs_world *w, int skip, void **pcs, int max, struct bs_regs *regs)
{
	enum bs_stop why;
	int n = 0, certain = 1;

	entered(regs);
	do {
		if (certain && regs->guessed && n < max) {
			pcs[n++] = 0;
			certain = 0;
		}
		if (skip > 0)
			skip--;
		else if (n < max)
			pcs[n++] = (void *)(uintptr_t)regs->pc;
	} while (n < max && bs_step(w, regs, &why));
	return n;
}

BS_ENTRY(bs_frames, bs_frames_from)

BS_ENTERED int bs_backtrace_from(void **pcs, int max, long unused, long neither, struct bs_regs *regs)
{
	(void)unused, (void)neither;
	return bs_frames_from(0, 0, pcs, max, regs);
}

BS_ENTRY(bs_backtrace, bs_backtrace_from)

BS_ENTERED void bs_here_from(struct bs_regs *here, long unused, long neither, long nor, struct bs_regs *regs)
{
	uint32_t i;

	(void)unused, (void)neither, (void)nor;
	entered(regs);
	here->pc = regs->pc;
	here->known = regs->known;
	here->exact = here->guessed = 0;
	for (i = 0; i < 16; i++) /* no copy of the whole, for which compilers call memcpy */
		if (regs->known >> i & 1)
			here->r[i] = regs->r[i];
}

BS_ENTRY(bs_here, bs_here_from)

#endif
