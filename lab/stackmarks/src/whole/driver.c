/* As drivers are written: structures of operations, containers of structures, states, callbacks with context, error paths. */
#include "lab.h"
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct device;
struct operations { int (*open)(struct device *); int (*read)(struct device *, uint8_t *, size_t); int (*write)(struct device *, const uint8_t *, size_t); void (*close)(struct device *); };
struct device { const struct operations *ops; const char *name; unsigned state; void (*done)(void *, int); void *context; struct device *next; };
struct ram { struct device base; uint8_t data[512]; size_t at; };
#define OF(d) ((struct ram *)((char *)(d)-offsetof(struct ram, base)))
static struct device *all;
static int ram_open(struct device *d) { OF(d)->at = 0; return 0; }
static int ram_read(struct device *d, uint8_t *to, size_t n) { struct ram *r = OF(d); if (r->at + n > sizeof r->data) return -EIO; memcpy(to, r->data + r->at, n); r->at += n; return (int)n; }
static int ram_write(struct device *d, const uint8_t *from, size_t n) { uint8_t b[64]; struct ram *r = OF(d); if (n > sizeof b || r->at + n > sizeof r->data) return -EIO; memcpy(b, from, n); for (size_t i = 0; i < n; i++) r->data[r->at++] = b[i] ^ 0x5a; return (int)n; }
static void ram_close(struct device *d) { d->state = 0; }
static int null_open(struct device *d) { d->state |= 2; return 0; }
static int null_read(struct device *d, uint8_t *to, size_t n) { (void)d; (void)to; return n ? -ENODATA : 0; }
static int null_write(struct device *d, const uint8_t *from, size_t n) { (void)from; d->state += (unsigned)n; return (int)n; }
static const struct operations ram_ops = {ram_open, ram_read, ram_write, ram_close}, null_ops = {null_open, null_read, null_write, NULL};
static NOINLINE uint32_t crc(const uint8_t *p, size_t n) { uint32_t c = ~0u; while (n--) { c ^= *p++; for (int k = 0; k < 8; k++) c = c >> 1 ^ (0xedb88320u & -(c & 1)); } return ~c; }
static NOINLINE int transfer(struct device *d, const char *text) {
	uint8_t b[48];
	int n = (int)strlen(text), err = d->ops->open(d);
	if (err) goto out;
	if ((err = d->ops->write(d, (const uint8_t *)text, (size_t)n)) < 0) goto closed;
	d->ops->open(d);
	if ((err = d->ops->read(d, b, (size_t)n)) < 0) goto closed;
	err = (int)(crc(b, (size_t)n) & 0xffff);
closed:
	if (d->ops->close) d->ops->close(d);
out:
	if (d->done) d->done(d->context, err);
	return err;
}
static void finished(void *context, int err) { printf("%s: %d\n", (const char *)context, err); }
static NOINLINE struct device *add(struct device *d, const char *name, const struct operations *ops) { d->name = name; d->ops = ops; d->done = finished; d->context = (void *)name; d->next = all; return all = d; }
static int by_name(const void *a, const void *b) { return strcmp((*(struct device *const *)a)->name, (*(struct device *const *)b)->name); }
int main(void) {
	static struct ram r;
	static struct device null;
	struct device *list[2] = {add(&r.base, "ram", &ram_ops), add(&null, "null", &null_ops)};
	qsort(list, 2, sizeof *list, by_name);
	for (struct device *d = all; d; d = d->next) sink += transfer(d, "what is written");
	return sink == 3;
}
