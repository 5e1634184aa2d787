#define _GNU_SOURCE
#include "tables.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef BS_TABLES
#define BS_TABLES "/usr/lib/backsight.tables"
#endif

enum { HEAD = 16, ENTRY = 16, KEY = 8, IDENTITY = 64 };

static const uint8_t none[HEAD];
static const uint8_t *all; /* 0: nobody has looked for it */

static uint32_t u32(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24; }

/* map maps the file, whose head is "bsT", version, number of tables, size of the file; none where it is no such file. */
static const uint8_t *map(void)
{
	const char *path = secure_getenv("BACKSIGHT_TABLES");
	int fd = open(path ? path : BS_TABLES, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *at = MAP_FAILED;

	if (fd < 0)
		return none;
	if (fstat(fd, &st) == 0 && st.st_size >= HEAD && st.st_size <= INT32_MAX)
		at = mmap(0, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return none;
	if (memcmp(at, "bsT\1", 4) == 0 && u32(at + 8) == (uint32_t)st.st_size && u32(at + 4) <= ((uint32_t)st.st_size - HEAD) / ENTRY)
		return at;
	munmap(at, (size_t)st.st_size);
	return none;
}

static const uint8_t *mapped(void)
{
	const uint8_t *before = __atomic_load_n(&all, __ATOMIC_ACQUIRE), *mine;

	if (before)
		return before;
	mine = map();
	if (__atomic_compare_exchange_n(&all, &before, mine, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return mine;
	if (mine != none)
		munmap((void *)(uintptr_t)mine, u32(mine + 8));
	return before;
}

/* key_of is the first bytes of a build ID; else the code's CRC and size. */
static void key_of(const struct bs_linux_module *m, bs_word size, uint8_t *key)
{
	uint32_t sum, i;

	memset(key, 0, KEY);
	if (m->build_size) {
		memcpy(key, m->build, m->build_size < KEY ? m->build_size : KEY);
		return;
	}
	sum = bs_sum((const uint8_t *)(uintptr_t)m->low, size);
	for (i = 0; i < 4; i++) {
		key[i] = (uint8_t)(sum >> 8 * i);
		key[4 + i] = (uint8_t)(size >> 8 * i);
	}
}

const uint8_t *bs_linux_table(const struct bs_linux_module *m, bs_word size, size_t *table_size)
{
	const uint8_t *file = mapped(), *table = 0;
	uint32_t low = 0, high = u32(file + 4), offset = 0;
	uint8_t key[KEY];

	if (high == 0)
		return 0;
	key_of(m, size, key);
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		const uint8_t *entry = file + HEAD + middle * ENTRY;
		int order = memcmp(entry, key, KEY);
		if (order == 0) {
			offset = u32(entry + KEY);
			*table_size = u32(entry + KEY + 4);
			table = file + offset;
			break;
		}
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (!table || offset > u32(file + 8) || *table_size > u32(file + 8) - offset || *table_size <= IDENTITY + sizeof m->build)
		return 0;
	return !m->build_size || (table[IDENTITY] == m->build_size && memcmp(table + IDENTITY + 1, m->build, m->build_size) == 0) ? table : 0;
}
