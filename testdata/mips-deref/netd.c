/* A small daemon of a router: parses a nested request with a library and looks
 * names up through a table of functions. The third level holds a bad pointer. */
#include <stdlib.h>
#include <string.h>
#include "proto.h"

#define noinline __attribute__((noinline, noclone))

struct route {
	const char *name;
	const unsigned char *gateway;
};

static struct route routes[] = {
	{"lan", (const unsigned char *)"\300\250\001\001"},
	{"wan", (const unsigned char *)0x40},
};

volatile unsigned last;

/* A leaf: no frame, RA stays in its register. */
static noinline unsigned pack(const unsigned char *a)
{
	return a[0] << 24 | a[1] << 16 | a[2] << 8 | a[3];
}

static noinline int on_route(void *ctx, const char *word)
{
	struct route *r = ctx;
	for (int i = 0; i < 2; i++)
		if (!strcmp(r[i].name, word))
			last = pack(r[i].gateway);
	return last & 1;
}

static noinline int serve(const char *request)
{
	struct proto p = {request, on_route, routes};
	int n = proto_parse(&p, 0);
	last += n;
	return n;
}

int main(int argc, char **argv)
{
	(void)argv;
	return serve(argc > 1 ? "lan" : "(lan(lan(wan)))") + last;
}
