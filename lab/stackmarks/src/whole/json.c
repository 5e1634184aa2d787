/* A reader and a writer of JSON: mutual recursion, strings, allocation, floating numbers, varargs. */
#include "lab.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct value { enum { NIL, NUMBER, TEXT, LIST, MAP } kind; double number; char *text; struct value **at; char **keys; int n; };
struct reader { const char *p; char problem[80]; int depth; };
static struct value *value(struct reader *r);
static NOINLINE __attribute__((format(printf, 2, 3))) void *problem(struct reader *r, const char *form, ...) {
	va_list a;
	va_start(a, form);
	vsnprintf(r->problem, sizeof r->problem, form, a);
	va_end(a);
	return NULL;
}
static void blank(struct reader *r) { while (isspace((unsigned char)*r->p)) r->p++; }
static NOINLINE char *text(struct reader *r) {
	char b[256];
	int n = 0;
	for (r->p++; *r->p && *r->p != '"' && n < 255; r->p++) b[n++] = *r->p == '\\' ? *++r->p : *r->p;
	if (*r->p != '"') return problem(r, "no end of a text at %.8s", r->p);
	r->p++;
	b[n] = 0;
	return strdup(b);
}
static NOINLINE struct value *add(struct value *v, char *key, struct value *x) {
	v->at = realloc(v->at, (size_t)(v->n + 1) * sizeof *v->at);
	v->keys = realloc(v->keys, (size_t)(v->n + 1) * sizeof *v->keys);
	v->at[v->n] = x;
	v->keys[v->n++] = key;
	return v;
}
static NOINLINE struct value *members(struct reader *r, struct value *v, char end) {
	for (r->p++, blank(r); *r->p != end;) {
		char *key = NULL;
		if (v->kind == MAP) {
			if (!(key = text(r))) return NULL;
			blank(r);
			if (*r->p++ != ':') return problem(r, "no colon after %s", key);
		}
		struct value *x = value(r);
		if (!x) return NULL;
		add(v, key, x);
		blank(r);
		if (*r->p == ',') { r->p++; blank(r); }
	}
	r->p++;
	return v;
}
static struct value *value(struct reader *r) {
	if (++r->depth > 64) return problem(r, "too deep: %d", r->depth);
	struct value *v = calloc(1, sizeof *v);
	blank(r);
	switch (*r->p) {
	case '[': v->kind = LIST; v = members(r, v, ']'); break;
	case '{': v->kind = MAP; v = members(r, v, '}'); break;
	case '"': v->kind = TEXT; v->text = text(r); break;
	case 'n': r->p += 4; break;
	default: { char *end; v->kind = NUMBER; v->number = strtod(r->p, &end); if (end == r->p) return problem(r, "what is %c?", *end); r->p = end; }
	}
	r->depth--;
	return v;
}
static void write(FILE *f, const struct value *v, int indent) {
	switch (v->kind) {
	case NIL: fputs("null", f); return;
	case NUMBER: fprintf(f, "%g", v->number); return;
	case TEXT: fprintf(f, "\"%s\"", v->text); return;
	default: break;
	}
	fputc(v->kind == LIST ? '[' : '{', f);
	for (int i = 0; i < v->n; i++) {
		fprintf(f, "%s\n%*s", i ? "," : "", indent + 2, "");
		if (v->keys[i]) fprintf(f, "\"%s\": ", v->keys[i]);
		write(f, v->at[i], indent + 2);
	}
	fputc(v->kind == LIST ? ']' : '}', f);
}
int main(void) {
	struct reader r = {.p = "{\"a\": [1, 2.5, {\"b\": null}], \"c\": \"d\"}"};
	struct value *v = value(&r);
	if (v) write(stdout, v, 0); else puts(r.problem);
	sink = r.depth;
	return 0;
}
