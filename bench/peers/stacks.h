// What the programs share: reading maps.txt, stacks.bin and pcs.expected of a folder
// of stacks, and timing. The formats are those of shared/inputs/perf/README.md.
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_MAPS 64
#define MAX_FRAMES 4096

struct map { uint64_t lo, hi, base; char path[512]; };
struct stack { uint64_t magic, regs[33], base, len; const uint8_t *bytes; };

static struct map maps[MAX_MAPS];
static int nmaps;
static struct stack *stacks;
static size_t nstacks;
static uint64_t *expected;

static uint8_t *slurp(const char *dir, const char *name, size_t *size) {
	char path[1024];
	snprintf(path, sizeof path, "%s/%s", dir, name);
	FILE *f = fopen(path, "rb");
	if (!f) { perror(path); exit(2); }
	fseek(f, 0, SEEK_END);
	*size = ftell(f);
	rewind(f);
	uint8_t *b = malloc(*size + 1);
	if (fread(b, 1, *size, f) != *size) { perror(path); exit(2); }
	b[*size] = 0;
	fclose(f);
	return b;
}

static void load(const char *dir) {
	size_t size;
	char *text = (char *)slurp(dir, "maps.txt", &size), *save;
	for (char *l = strtok_r(text, "\n", &save); l && nmaps < MAX_MAPS; l = strtok_r(NULL, "\n", &save)) {
		struct map *m = &maps[nmaps++];
		char path[256];
		sscanf(l, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %255s", &m->lo, &m->hi, &m->base, path);
		snprintf(m->path, sizeof m->path, path[0] == '/' ? "%s" : "%2$s/%1$s", path, dir);
	}
	uint8_t *b = slurp(dir, "stacks.bin", &size);
	for (size_t at = 0; at < size;) {
		stacks = realloc(stacks, (nstacks + 1) * sizeof *stacks);
		struct stack *s = &stacks[nstacks++];
		memcpy(s, b + at, 36 * 8);
		s->bytes = b + at + 36 * 8;
		at += 36 * 8 + s->len;
	}
	expected = (uint64_t *)slurp(dir, "pcs.expected", &size);
}

static const struct map *map_at(uint64_t addr) {
	for (int i = 0; i < nmaps; i++)
		if (addr >= maps[i].lo && addr < maps[i].hi) return &maps[i];
	return NULL;
}

static double cpu_ns(void) {
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

// measure walks all stacks, once to warm up and then rounds times, and prints the
// time of a frame and how many stacks were right.
static void measure(const char *name, int (*walk)(const struct stack *, uint64_t *, int), int rounds) {
	static uint64_t pcs[MAX_FRAMES];
	size_t right = 0, frames = 0;
	const uint64_t *want = expected;
	for (size_t i = 0; i < nstacks; i++) {
		size_t n = walk(&stacks[i], pcs, MAX_FRAMES);
		right += n == *want && !memcmp(pcs, want + 1, 8 * n);
		want += 1 + *want;
		frames += n;
	}
	double start = cpu_ns();
	for (int r = 0; r < rounds; r++)
		for (size_t i = 0; i < nstacks; i++) walk(&stacks[i], pcs, MAX_FRAMES);
	printf("%s\t%.1f\t%zu of %zu\n", name, (cpu_ns() - start) / rounds / frames, right, nstacks);
}
