/* backtrace_symbols() and backtrace_symbols_fd() of execinfo.h. Names are those of dynamic symbols, which are looked up without
 * the loader: the latter function may be called where memory is broken, or a lock is held. */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "line.h"

char **backtrace_symbols(void *const *pcs, int n);
void backtrace_symbols_fd(void *const *pcs, int n, int fd);

/* What a dynamic section says: 0 where it does not. */
struct dynamic {
	const ElfW(Sym) *symbols;
	const char *strings;
	const uint32_t *gnu, *sysv;
	bs_word strings_size, count;
};

/* inside is what lies at an address of the section, size bytes of it within the module; the loader has made addresses of memory of
 * them, but not where the section cannot be written to. */
static const void *inside(const struct bs_linux_module *m, bs_word at, bs_word size)
{
	if (at < m->image_low)
		at += m->bias;
	return at >= m->image_low && at <= m->image_high && size <= m->image_high - at && at % 4 == 0 ? (const void *)(uintptr_t)at : 0;
}

/* counted is how many symbols a GNU hash table knows: those of the last chain are the last. */
static bs_word counted(const struct bs_linux_module *m, const uint32_t *gnu)
{
	bs_word room = (m->image_high - (bs_word)(uintptr_t)gnu) / 4, chains, last = 0, i;

	chains = 4 + gnu[2] * (bs_word)(sizeof(ElfW(Addr)) / 4) + gnu[0];
	if (gnu[2] > room || gnu[0] > room || chains > room)
		return 0;
	for (i = chains - gnu[0]; i < chains; i++)
		last = gnu[i] > last ? gnu[i] : last;
	for (i = chains + last - gnu[1]; last >= gnu[1] && i < room; i++, last++)
		if (gnu[i] & 1)
			return last + 1;
	return 0;
}

static void read_dynamic(const struct bs_linux_module *m, struct dynamic *d)
{
	const ElfW(Dyn) *e = (const ElfW(Dyn) *)(const void *)m->dynamic;
	bs_word i, n = m->dynamic_size / sizeof *e, strings = 0;

	memset(d, 0, sizeof *d);
	for (i = 0; i < n && e[i].d_tag != DT_NULL; i++) {
		bs_word v = (bs_word)e[i].d_un.d_ptr;
		switch (e[i].d_tag) {
		case DT_SYMTAB: d->symbols = inside(m, v, sizeof *d->symbols); break;
		case DT_STRTAB: strings = v; break;
		case DT_STRSZ: d->strings_size = v; break;
		case DT_HASH: d->sysv = inside(m, v, 8); break;
		case DT_GNU_HASH: d->gnu = inside(m, v, 16); break;
		}
	}
	if (strings < m->image_low)
		strings += m->bias;
	if (strings >= m->image_low && strings < m->image_high && d->strings_size <= m->image_high - strings)
		d->strings = (const char *)(uintptr_t)strings;
	d->count = d->sysv ? d->sysv[1] : d->gnu ? counted(m, d->gnu) : 0;
	if (d->symbols && d->count > (m->image_high - (bs_word)(uintptr_t)d->symbols) / sizeof *d->symbols)
		d->count = 0;
}

/* symbol is the name of the function that has an address, 0 for none; at is where it begins. */
static const char *symbol(const struct bs_linux_module *m, bs_word pc, bs_word *at)
{
	const char *name = 0;
	struct dynamic d;
	bs_word i;

	read_dynamic(m, &d);
	if (!d.symbols || !d.strings)
		return 0;
	for (i = 0; i < d.count; i++) {
		const ElfW(Sym) *s = &d.symbols[i];
		bs_word value = m->bias + (bs_word)s->st_value;
#if BS_MACHINE == BS_ARM || BS_MACHINE == BS_MIPS
		value &= ~(bs_word)1;
#endif
		if ((s->st_info & 15) != STT_FUNC || s->st_shndx == SHN_UNDEF || pc - value >= s->st_size || s->st_name >= d.strings_size ||
		    !memchr(d.strings + s->st_name, 0, d.strings_size - s->st_name))
			continue;
		name = d.strings + s->st_name;
		*at = value;
	}
	return name;
}

/* place writes what glibc does: PATH(NAME+0xOFFSET) [0xADDRESS]. */
static void place(struct bs_line *l, bs_word pc)
{
	const struct bs_linux_module *m = bs_linux_module_at(pc);
	const char *name;
	bs_word at;

	if (m) {
		at = m->bias;
		name = symbol(m, pc, &at);
		bs_line_text(l, m->path);
		bs_line_text(l, "(");
		bs_line_text(l, name ? name : "");
		bs_line_text(l, "+0x");
		bs_line_number(l, pc - at, 16, 1);
		bs_line_text(l, ") ");
	}
	bs_line_text(l, "[0x");
	bs_line_number(l, pc, 16, 1);
	bs_line_text(l, "]");
}

void backtrace_symbols_fd(void *const *pcs, int n, int fd)
{
	struct bs_line l = {.fd = fd, .file = -1};
	int i;

	for (i = 0; i < n; i++) {
		place(&l, (bs_word)(uintptr_t)pcs[i]);
		bs_line_text(&l, "\n");
		bs_line_flush(&l);
	}
}

/* The lines are written twice: once to see how long they are. */
char **backtrace_symbols(void *const *pcs, int n)
{
	struct bs_line l = {.fd = -1, .file = -1};
	char **lines = 0;
	int i, pass;

	for (pass = 0; pass < 2; pass++) {
		l.all = 0;
		for (i = 0; i < n; i++) {
			if (lines)
				lines[i] = l.memory + (l.all < l.room ? l.all : l.room);
			place(&l, (bs_word)(uintptr_t)pcs[i]);
			bs_line_flush(&l);
			l.text[l.used++] = 0;
			bs_line_flush(&l);
		}
		if (lines || n < 0 || !(lines = calloc(1, (size_t)n * sizeof *lines + l.all + 1)))
			break;
		l.memory = (char *)(lines + n);
		l.room = l.all;
	}
	return lines;
}
