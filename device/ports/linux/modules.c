/* The list of modules. Whoever refreshes it makes a new list in a place of its own and lets it be the current one; nobody
 * waits for anybody, and a list stays as it is until LISTS - 1 others have followed. So a thread, a signal handler or
 * the child of a fork always finds a whole list. Memory grows with the number of modules, not of changes. */
#define _GNU_SOURCE
#include "modules.h"

#include "tables.h"

#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

enum { LISTS = 8, MOST = 1 << 16, ROOM = 64, MAGIC = 3 };

struct list {
	struct bs_linux_module *modules; /* by address */
	unsigned room, count, version;
	unsigned long long loaded, unloaded; /* what the loader had counted */
	int tables, busy;
};

static struct list lists[LISTS];
static struct list *current;
static unsigned versions;

static const struct list *list(void) { return __atomic_load_n(&current, __ATOMIC_ACQUIRE); }

/* grow doubles the room of a list that nobody reads yet. */
static int grow(struct list *l)
{
	unsigned room = l->room ? 2 * l->room : ROOM;
	void *to;

	if (room > MOST)
		return 0;
	to = mmap(0, room * sizeof *l->modules, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (to == MAP_FAILED)
		return 0;
	if (l->room) {
		memcpy(to, l->modules, l->count * sizeof *l->modules);
		munmap(l->modules, l->room * sizeof *l->modules);
	}
	l->modules = to;
	l->room = room;
	return 1;
}

/* path_of notes a module's path. musl calls a static program by the link that leads to its file. */
static void path_of(struct bs_linux_module *m, const char *path)
{
	if (!path || !*path || strcmp(path, "/proc/self/exe") == 0)
		path = program_invocation_name;
	strncpy(m->path, path, sizeof m->path - 1);
}

/* build_of notes the build ID among notes. */
static void build_of(struct bs_linux_module *m, const uint8_t *at, size_t size)
{
	const uint8_t *end = at + size;
	ElfW(Nhdr) note;

	while ((size_t)(end - at) >= sizeof note) {
		size_t name, text;
		memcpy(&note, at, sizeof note);
		at += sizeof note;
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		text = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		if (name > (size_t)(end - at) || text > (size_t)(end - at) - name)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(at, "GNU", 4) == 0) {
			m->build_size = (uint8_t)(note.n_descsz < sizeof m->build ? note.n_descsz : sizeof m->build);
			memcpy(m->build, at + name, m->build_size);
			return;
		}
		at += name + text;
	}
}

/* within tells whether a segment lies in what is mapped of a module. */
static int within(const struct bs_linux_module *m, const ElfW(Phdr) *p)
{
	bs_word at = m->bias + (bs_word)p->p_vaddr;
	return at >= m->image_low && at < m->image_high && p->p_memsz <= m->image_high - at;
}

/* span widens a range by a segment. */
static void span(bs_word *low, bs_word *high, bs_word at, bs_word size)
{
	if (*low == *high || at < *low)
		*low = at;
	if (at + size > *high)
		*high = at + size;
}

/* checked is the table, if it is whole, which it is where the list before had it. */
static const uint8_t *checked(struct bs_linux_module *m, const uint8_t *table, size_t size)
{
	const struct bs_linux_module *before = bs_linux_module_at(m->low);

	if (size < 12)
		return 0;
	memcpy(&m->table_sum, table + 8, sizeof m->table_sum);
	if (before && before->table == table && before->bias == m->bias && before->high == m->high && before->table_sum == m->table_sum)
		return table;
	return bs_check(table, size, 0) ? table : 0;
}

/* in_segment is the table that a segment begins with, else the one that there was. */
static const uint8_t *in_segment(struct bs_linux_module *m, const uint8_t *at, size_t size)
{
	if (size > MAGIC && memcmp(at, "bsD", MAGIC) == 0)
		return checked(m, at, size);
	return m->table;
}

/* segments notes what the program headers say, and the table that a file of tables has. */
static void segments(struct bs_linux_module *m, const struct dl_phdr_info *info)
{
	bs_word code = 0;
	size_t size = 0;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		bs_word at = m->bias + (bs_word)p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		if (p->p_flags & PF_R)
			span(&m->image_low, &m->image_high, at, (bs_word)p->p_memsz);
		if (p->p_flags & PF_X) {
			code = m->low == m->high ? (bs_word)p->p_filesz : code;
			span(&m->low, &m->high, at, (bs_word)p->p_memsz);
		}
	}
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint8_t *at = (const uint8_t *)(uintptr_t)(m->bias + (bs_word)p->p_vaddr);
		if (!within(m, p))
			continue;
		if (p->p_type == PT_LOAD && p->p_flags == PF_R)
			m->table = in_segment(m, at, p->p_memsz);
		if (p->p_type == PT_NOTE && !m->build_size)
			build_of(m, at, p->p_memsz);
		if (p->p_type == PT_DYNAMIC) {
			m->dynamic = at;
			m->dynamic_size = (bs_word)p->p_memsz;
		}
#if BS_MACHINE == BS_ARM
		if (p->p_type == PT_ARM_EXIDX) {
#else
		if (p->p_type == PT_GNU_EH_FRAME) {
#endif
			m->frames = at;
			m->frames_size = (bs_word)p->p_memsz;
		}
	}
	if (!m->table && code != 0) {
		const uint8_t *table = bs_linux_table(m, code, &size);
		m->table = table ? checked(m, table, size) : 0;
	}
}

/* counted reads how many modules the loader has loaded and unloaded ever, where its record has that; 0: nowhere. */
static int counted(const struct dl_phdr_info *info, size_t size, struct list *l)
{
	if (size < offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
		return 0;
	l->loaded = info->dlpi_adds;
	l->unloaded = info->dlpi_subs;
	return 1;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct list *l = data;
	struct bs_linux_module *m, one;
	unsigned i;

	if (l->count == l->room && !grow(l))
		return 1;
	counted(info, size, l);
	memset(&one, 0, sizeof one);
	one.bias = (bs_word)info->dlpi_addr;
	segments(&one, info);
	if (one.low == one.high)
		return 0;
	path_of(&one, info->dlpi_name);
	m = l->modules;
	for (i = l->count++; i > 0 && m[i - 1].low > one.low; i--)
		m[i] = m[i - 1];
	m[i] = one;
	l->tables += one.table != 0;
	return 0;
}

/* unchanged looks at the first module only. */
static int unchanged(struct dl_phdr_info *info, size_t size, void *data)
{
	const struct list *l = list();
	struct list now;

	*(int *)data = l && counted(info, size, &now) && now.loaded == l->loaded && now.unloaded == l->unloaded;
	return 1;
}

/* claim returns the list that has been none the longest, 0 where all are at work. */
static struct list *claim(void)
{
	struct list *oldest = 0;
	int i;

	for (i = 0; i < LISTS; i++)
		if (&lists[i] != list() && !__atomic_load_n(&lists[i].busy, __ATOMIC_ACQUIRE) && (!oldest || lists[i].version < oldest->version))
			oldest = &lists[i];
	if (!oldest || __atomic_exchange_n(&oldest->busy, 1, __ATOMIC_ACQ_REL))
		return 0;
	return oldest;
}

/* publish lets a list be the current one, unless it says nothing new or another one has seen more meanwhile. */
static void publish(struct list *l)
{
	struct list *before = __atomic_load_n(&current, __ATOMIC_ACQUIRE);

	if (before && before->count == l->count && memcmp(before->modules, l->modules, l->count * sizeof *l->modules) == 0 &&
	    before->loaded == l->loaded && before->unloaded == l->unloaded)
		return;
	l->version = __atomic_add_fetch(&versions, 1, __ATOMIC_ACQ_REL);
	while (!before || before->loaded <= l->loaded)
		if (__atomic_compare_exchange_n(&current, &before, l, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			return;
}

int bs_linux_refresh(void)
{
	struct list *l;
	int same = 0;

	dl_iterate_phdr(unchanged, &same);
	if (!same && (l = claim()) != 0) {
		l->count = 0;
		l->tables = 0;
		l->loaded = l->unloaded = 0;
		dl_iterate_phdr(add_module, l);
		publish(l);
		__atomic_store_n(&l->busy, 0, __ATOMIC_RELEASE);
	}
	return list() ? list()->tables : 0;
}

unsigned bs_linux_version(void) { return list() ? list()->version : 0; }

const struct bs_linux_module *bs_linux_module_at(bs_word pc)
{
	const struct list *l = list();
	unsigned low = 0, high = l ? l->count : 0;

	while (low < high) { /* to the first module that begins behind pc */
		unsigned middle = (low + high) / 2;
		if (l->modules[middle].low <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && pc < l->modules[low - 1].high ? &l->modules[low - 1] : 0;
}

const uint8_t *bs_linux_table_at(void *context, bs_word pc, bs_word *bias)
{
	const struct bs_linux_module *m = bs_linux_module_at(pc);

	(void)context;
	if (!m)
		return 0;
	*bias = m->bias;
	return m->table;
}
