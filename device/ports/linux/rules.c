/* The rules that walks have needed are remembered, in a table of fixed size. An entry is read and written without locks: its
 * number is odd while somebody writes, and another one afterwards. Who comes in between asks the sources. */
#include "rules.h"

#include "memory.h"
#include "scan.h"
#include "signal.h"

enum { ENTRIES = 128 };

struct entry {
	unsigned number, version;
	bs_word at;
	int exact;
	struct bs_rule rule;
};

static struct entry entries[ENTRIES];

static struct entry *entry_of(bs_word at)
{
	uint32_t hash = (uint32_t)(at >> 1) * 0x9e3779b1u;
	return &entries[hash >> 25];
}

/* remembered copies the rule that an entry has for an address. */
static int remembered(const struct entry *e, bs_word at, int exact, unsigned version, struct bs_rule *rule)
{
	unsigned number = __atomic_load_n(&e->number, __ATOMIC_ACQUIRE);

	if ((number & 1) || e->at != at || e->exact != exact || e->version != version || number == 0)
		return 0;
	if (rule)
		*rule = e->rule;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return __atomic_load_n(&e->number, __ATOMIC_RELAXED) == number;
}

static void remember(struct entry *e, bs_word at, int exact, unsigned version, const struct bs_rule *rule)
{
	unsigned number = __atomic_load_n(&e->number, __ATOMIC_RELAXED);

	if ((number & 1) || !__atomic_compare_exchange_n(&e->number, &number, number + 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	e->at = at;
	e->exact = exact;
	e->version = version;
	e->rule = *rule;
	__atomic_store_n(&e->number, number + 2, __ATOMIC_RELEASE);
}

/* untabled asks the sources behind the table. ARM's index says nothing of places that are no calls: there the code is asked first. */
static int untabled(const struct bs_linux_module *m, bs_word at, int exact, struct bs_rule *rule)
{
#if !defined(BS_NO_CODE) && BS_MACHINE == BS_ARM
	if (exact && bs_linux_by_code(m, at, exact, rule) && !(rule->flags & BS_GUESSED))
		return 1;
#endif
#if !defined(BS_NO_FRAMES)
	if (bs_linux_by_frames(m, at, rule))
		return 1;
#endif
#if !defined(BS_NO_CODE)
	if (bs_linux_by_code(m, at, exact, rule))
		return 1;
#endif
	(void)m, (void)at, (void)exact, (void)rule;
	return 0;
}

/* complete says where the registers are that a table does not track: a caller in another module may be found by one. */
static void complete(struct bs_rule *rule, const struct bs_rule *other)
{
	int i, slot;

	if ((other->flags & (BS_GUESSED | BS_OUTERMOST)) || ((rule->flags | other->flags) & BS_LOAD))
		return;
	for (i = 0; i < 16; i++) {
		if (rule->slot[i] != BS_LOST || other->slot[i] == BS_LOST)
			continue;
		slot = other->slot[i] - (other->flags & BS_BELOW ? other->offset : 0) + (rule->flags & BS_BELOW ? rule->offset : 0);
		if (other->slot[i] == BS_KEPT)
			slot = BS_KEPT;
		if (slot >= BS_KEPT && slot < BS_LOST)
			rule->slot[i] = (int16_t)slot;
	}
}

static int ask(const struct bs_linux_module *m, bs_word at, int exact, struct bs_rule *rule, enum bs_stop *why)
{
	struct bs_rule other;

	*why = BS_NO_TABLE;
	if (!m->table || !bs_table_rule(m->table, at - m->bias, rule, why))
		return untabled(m, at, exact, rule);
	if (!(rule->flags & BS_OUTERMOST) && untabled(m, at, exact, &other))
		complete(rule, &other);
	return 1;
}

int bs_linux_rule(void *context, const struct bs_world *w, bs_word at, int exact, struct bs_rule *rule, enum bs_stop *why)
{
	unsigned version = bs_linux_version();
	struct entry *e = entry_of(at);
	const struct bs_linux_module *m;

	(void)context, (void)w;
	if (remembered(e, at, exact, version, rule))
		return 1;
	m = bs_linux_module_at(at);
	*why = BS_NO_TABLE;
	if (!m || !bs_linux_readable(at) /* unloaded since the list was made */ || !ask(m, at, exact, rule, why))
		return 0;
	remember(e, at, exact, version, rule);
	return 1;
}

/* The kernel's own trampoline is in no module with a table, or on the stack; a C library's is in the
 * library. Code that has a rule that was asked for is none. */
int bs_linux_caught(void *context, const struct bs_world *w, struct bs_regs *regs)
{
	bs_word at = regs->pc - 1;
	return regs->pc != 0 && !remembered(entry_of(at), at, 0, bs_linux_version(), 0) && bs_linux_trampoline(context, w, regs);
}

const struct bs_world bs_linux_world = {.read = bs_linux_read, .trampoline = bs_linux_caught, .rule = bs_linux_rule, .table = bs_linux_table_at};
const struct bs_world bs_linux_guessing_world = {
	.read = bs_linux_read, .trampoline = bs_linux_caught, .rule = bs_linux_rule, .table = bs_linux_table_at, .guess = bs_linux_guess};
