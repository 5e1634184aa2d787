// usage: libunwind DIR ROUNDS   Walks the stacks of DIR with libunwind's remote
// interface and its cache, the tables of all modules at hand.
#define UNW_REMOTE_ONLY
#include "stacks.h"
#include <elf.h>
#include <fcntl.h>
#include <libunwind.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct image { const uint8_t *file; uint64_t text_off, hdr_off, hdr_vaddr, count; } images[MAX_MAPS];
static const struct stack *current;

static void open_image(int i) {
	int fd = open(maps[i].path, O_RDONLY);
	struct stat st;
	if (fd < 0 || fstat(fd, &st)) { perror(maps[i].path); exit(2); }
	images[i].file = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	const Elf64_Ehdr *e = (const void *)images[i].file;
	const Elf64_Phdr *p = (const void *)(images[i].file + e->e_phoff);
	for (int k = 0; k < e->e_phnum; k++)
		if (p[k].p_type == PT_GNU_EH_FRAME) images[i].hdr_off = p[k].p_offset, images[i].hdr_vaddr = p[k].p_vaddr;
}

// in_file is the file's byte at a target address.
static const uint8_t *in_file(uint64_t addr) {
	const struct map *m = map_at(addr);
	if (!m) return NULL;
	const uint8_t *f = images[m - maps].file;
	const Elf64_Ehdr *e = (const void *)f;
	const Elf64_Phdr *p = (const void *)(f + e->e_phoff);
	uint64_t v = addr - m->base;
	for (int k = 0; k < e->e_phnum; k++)
		if (p[k].p_type == PT_LOAD && v - p[k].p_vaddr < p[k].p_filesz) return f + p[k].p_offset + (v - p[k].p_vaddr);
	return NULL;
}

static int access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *v, int write, void *arg) {
	if (addr - current->base < current->len && current->len - (addr - current->base) >= 8) {
		memcpy(v, current->bytes + (addr - current->base), 8);
		return 0;
	}
	const uint8_t *b = in_file(addr);
	if (!b || write) return -UNW_EINVAL;
	memcpy(v, b, 8);
	return 0;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t r, unw_word_t *v, int write, void *arg) {
	if (write || r < 0 || r > 16) return -UNW_EBADREG;
	*v = current->regs[r]; // libunwind numbers them as DWARF does
	return 0;
}

int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t, unw_word_t, unw_dyn_info_t *, unw_proc_info_t *, int, void *);

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi, int need, void *arg) {
	const struct map *m = map_at(ip);
	if (!m || !images[m - maps].hdr_off) return -UNW_ENOINFO;
	const struct image *g = &images[m - maps];
	const uint8_t *h = g->file + g->hdr_off; // version 1, encodings 1b 03 3b, as GNU ld and lld write it
	unw_dyn_info_t di = {0};
	di.format = UNW_INFO_FORMAT_REMOTE_TABLE;
	di.start_ip = m->lo, di.end_ip = m->hi;
	di.u.rti.segbase = m->base + g->hdr_vaddr;
	di.u.rti.table_data = di.u.rti.segbase + 12;
	di.u.rti.table_len = *(const uint32_t *)(h + 8) * 8 / sizeof(unw_word_t);
	return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi, need, arg);
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg) {}
static int get_dyn_info_list_addr(unw_addr_space_t as, unw_word_t *a, void *arg) { return -UNW_ENOINFO; }
static int access_fpreg(unw_addr_space_t as, unw_regnum_t r, unw_fpreg_t *v, int w, void *arg) { return -UNW_EBADREG; }
static int resume(unw_addr_space_t as, unw_cursor_t *c, void *arg) { return -UNW_EINVAL; }
static int get_proc_name(unw_addr_space_t as, unw_word_t a, char *b, size_t n, unw_word_t *o, void *arg) { return -UNW_ENOINFO; }

static unw_addr_space_t space;

static int walk(const struct stack *s, uint64_t *pcs, int max) {
	unw_cursor_t c;
	current = s;
	int n = 0;
	if (unw_init_remote(&c, space, NULL)) return 0;
	do {
		unw_word_t ip;
		if (unw_get_reg(&c, UNW_REG_IP, &ip) || !ip) break;
		pcs[n++] = ip;
	} while (n < max && unw_step(&c) > 0);
	return n;
}

int main(int argc, char **argv) {
	static unw_accessors_t a = {find_proc_info, put_unwind_info, get_dyn_info_list_addr, access_mem, access_reg, access_fpreg, resume, get_proc_name};
	load(argv[1]);
	for (int i = 0; i < nmaps; i++) open_image(i);
	space = unw_create_addr_space(&a, 0);
	unw_set_caching_policy(space, UNW_CACHE_PER_THREAD);
	unw_set_cache_size(space, 1 << 14, 0);
	measure("libunwind, cached", walk, atoi(argv[2]));
}
