#include "capture.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
	below = 256,         /* bytes captured below SP */
	beyond = 1024,       /* above the outermost frame: those of its callers */
	most = 160 << 10,    /* of a stack, else there is no capture */
	code = 64,           /* of a signal's trampoline, which no file may have */
	prologue = 10,       /* instructions */
};

enum kind capture_kind(const struct shadow *s, size_t base)
{
	const struct activation *a = &s->at[s->n - 1];
	uint64_t entry = a->cfa - (s->abi->link ? 0 : s->abi->word);
	for (size_t i = base; s->signals && i < s->n; i++)
		if (s->at[i].signal)
			return SIGNAL;
	if (a->ran == 0)
		return ENTRY;
	if (s->was.sp > a->low)
		return EPILOGUE;
	if (a->ran < prologue)
		return PROLOGUE;
	return a->low == entry ? LEAF : BODY;
}

/* stack is the captured part of a stack. */
struct stack {
	uint64_t base;
	size_t size;
	uint8_t bytes[most + below + beyond];
};

/* lies tells whether a word of the stack in [from, to) is a return address. */
static bool lies(const struct cpu *c, const struct stack *st, uint64_t from, uint64_t to, uint64_t ret)
{
	unsigned word = c->abi.word;
	for (uint64_t a = from & -(uint64_t)word; a + word <= to; a += word)
		if (a >= st->base && a + word <= st->base + st->size &&
		    (memory_word(c, st->bytes + (a - st->base)) & ~c->abi.mode) == ret)
			return true;
	return false;
}

/* held tells whether a register is a return address. */
static bool held(const struct cpu *c, unsigned vcpu, uint64_t ret)
{
	for (int i = 0; i < 32 && c->abi.link; i++)
		if ((cpu_register(c, vcpu, i) & ~c->abi.mode) == ret)
			return true;
	return false;
}

void capture_called(const struct cpu *c, struct activation *a, uint64_t sp)
{
	static struct stack frame;
	unsigned word = c->abi.word;
	if (!c->abi.link || a->signal || a->saved[0] || a->cfa <= sp || a->cfa - sp > most)
		return;
	size_t size = memory_read(sp, frame.bytes, a->cfa - sp), n = 0;
	for (size_t at = 0; at + word <= size && n < sizeof a->saved / sizeof *a->saved; at += word)
		if ((memory_word(c, frame.bytes + at) & ~c->abi.mode) == a->ret)
			a->saved[n++] = sp + at;
}

/* kept tells whether a return address still lies where its function keeps it. What leaves
 * by __builtin_eh_return (_Unwind_Resume) puts the registers of the frame that it unwinds to
 * over its own saved ones: then nobody can tell the caller from its frame. */
static bool kept(const struct cpu *c, const struct stack *st, const struct activation *a)
{
	for (size_t i = 0; i < sizeof a->saved / sizeof *a->saved && a->saved[i]; i++)
		if (lies(c, st, a->saved[i], a->saved[i] + c->abi.word, a->ret))
			return true;
	return a->saved[0] == 0;
}

/* proven: no jump is known that may have been a call, no frame has been left behind by SP (longjmp, before its last jump), and every return address lies in the words of its frame, of the innermost
 * frame perhaps in a register; on x86 right below the CFA, elsewhere where it was kept. */
static bool proven(const struct cpu *c, const struct place *p, const struct stack *st)
{
	uint64_t from = p->shadow->was.sp;
	if (p->shadow->beside.a.ret)
		return false;
	for (size_t i = p->shadow->n; i-- > p->base;) {
		const struct activation *a = &p->shadow->at[i];
		if (!c->abi.link && !a->signal)
			from = a->cfa - c->abi.word;
		bool top = i + 1 == p->shadow->n;
		if (a->strange || a->cfa < p->shadow->was.sp || !kept(c, st, a))
			return false;
		if (!lies(c, st, from, a->cfa, a->ret) && !(top && held(c, p->vcpu, a->ret)))
			return false;
		from = a->cfa;
	}
	return true;
}

static void write_memory(FILE *f, const char *before, uint64_t base, const uint8_t *b, size_t n)
{
	fprintf(f, "%s{\"base\":\"%#" PRIx64 "\",\"hex\":\"", before, base);
	for (size_t i = 0; i < n; i++)
		fprintf(f, "%02x", b[i]);
	fputs("\"}", f);
}

static void write_registers(FILE *f, const struct cpu *c, const struct place *p)
{
	char names[256], *rest = names;
	strcpy(names, c->names);
	fputs(",\"regs\":{", f);
	int i = 0;
	for (char *name; (name = strtok_r(rest, " ", &rest)); i++)
		if (*name != '-')
			fprintf(f, "\"%s\":\"%#" PRIx64 "\",", name, cpu_register(c, p->vcpu, i));
	uint64_t mode = c->pc < 0 ? 0 : cpu_register(c, p->vcpu, c->pc) & 1;
	fprintf(f, "\"pc\":\"%#" PRIx64 "\"}", p->shadow->was.pc | mode);
}

static void write_chain(FILE *f, const struct place *p)
{
	const char *before = ",\"chain\":[";
	for (size_t i = p->shadow->n; i-- > p->base; before = ",") {
		const struct activation *a = &p->shadow->at[i];
		fprintf(f, "%s{\"ret\":\"%#" PRIx64 "\",\"cfa\":\"%#" PRIx64 "\",\"start\":\"%#" PRIx64 "\",\"signal\":%s}",
		        before, a->ret, a->cfa, a->start, a->signal ? "true" : "false");
	}
	fputc(']', f);
}

static void write_trampolines(FILE *f, const struct place *p)
{
	for (size_t i = p->base; i < p->shadow->n; i++) {
		uint8_t b[code];
		if (p->shadow->at[i].signal)
			write_memory(f, ",", p->shadow->at[i].start, b, memory_read(p->shadow->at[i].start, b, code));
	}
}

bool capture_write(FILE *f, const struct cpu *c, const struct place *p, enum kind kind)
{
	static struct stack st;
	struct place inner = *p; /* of a stack that is too large the innermost activations */
	uint64_t sp = p->shadow->was.sp;
	while (inner.base + 1 < p->shadow->n && p->shadow->at[inner.base].cfa - sp > most)
		inner.base++;
	p = &inner;
	uint64_t top = p->shadow->at[p->base].cfa;
	if (top < sp || top - sp > most)
		return false;
	st.base = sp - below;
	st.size = memory_read(st.base, st.bytes, top - sp + below + beyond);
	if (!proven(c, p, &st))
		return false;
	fprintf(f, "{\"step\":%" PRIu64 ",\"kind\":\"%s\",\"before\":\"%#" PRIx64 "\"", p->step, kind_names[kind], p->before);
	write_registers(f, c, p);
	write_memory(f, ",\"memory\":[", st.base, st.bytes, st.size);
	write_trampolines(f, p);
	fputc(']', f);
	write_chain(f, p);
	fputs("}\n", f);
	return true;
}

void capture_mark(FILE *f, const struct place *p, uint64_t number)
{
	fprintf(f, "{\"mark\":%" PRIu64 ",\"step\":%" PRIu64, number, p->step);
	write_chain(f, p);
	fputs("}\n", f);
}
