/* What programs do all day: parse, print, sort, hash, compress, match, and compute with large and with floating numbers, much of it in the C library. */
#include "lab.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* An expression evaluator by recursive descent. */
static const char *at;
static double expression(void);
static NOINLINE double primary(void) {
	if (*at == '(') { at++; double v = expression(); at++; return v; }
	if (*at == '-') { at++; return -primary(); }
	if (strncmp(at, "sin", 3) == 0) { at += 3; return sin(primary()); }
	if (strncmp(at, "exp", 3) == 0) { at += 3; return exp(primary()); }
	char *end;
	double v = strtod(at, &end);
	at = end;
	return v;
}
static NOINLINE double term(void) { double v = primary(); while (*at == '*' || *at == '/') { int m = *at++ == '*'; double w = primary(); v = m ? v * w : v / w; } return v; }
static NOINLINE double expression(void) { double v = term(); while (*at == '+' || *at == '-') { int p = *at++ == '+'; double w = term(); v = p ? v + w : v - w; } return v; }

/* A pattern with * and ?. */
static NOINLINE int match(const char *p, const char *s) {
	for (; *p; p++, s++) {
		if (*p == '*') { do if (match(p + 1, s)) return 1; while (*s++); return 0; }
		if (!*s || (*p != '?' && *p != *s)) return 0;
	}
	return !*s;
}

/* A hash table of words, grown by doubling. */
struct word { char *text; unsigned count; };
static struct word *words;
static size_t room, used;
static uint64_t hash(const char *s) { uint64_t h = 14695981039346656037u; while (*s) h = (h ^ (unsigned char)*s++) * 1099511628211u; return h; }
static NOINLINE struct word *slot(const char *s) { size_t i = hash(s) % room; while (words[i].text && strcmp(words[i].text, s)) i = (i + 1) % room; return &words[i]; }
static NOINLINE void count(const char *s) {
	if (2 * used >= room) {
		struct word *old = words;
		size_t n = room;
		room = room ? 2 * room : 8;
		words = calloc(room, sizeof *words);
		for (size_t i = 0; i < n; i++) if (old[i].text) *slot(old[i].text) = old[i];
		free(old);
	}
	struct word *w = slot(s);
	if (!w->text) { w->text = malloc(strlen(s) + 1); strcpy(w->text, s); used++; }
	w->count++;
}
static int by_count(const void *a, const void *b) { const struct word *x = a, *y = b; return x->count == y->count ? strcmp(x->text ? x->text : "", y->text ? y->text : "") : x->count < y->count ? 1 : -1; }

/* Numbers of many digits. */
static NOINLINE void times(uint32_t *v, int n, uint32_t by) { uint64_t c = 0; for (int i = 0; i < n; i++) { c += (uint64_t)v[i] * by; v[i] = (uint32_t)(c % 1000000000u); c /= 1000000000u; } }
static NOINLINE int factorial(int n) { uint32_t v[40] = {1}; for (int i = 2; i <= n; i++) times(v, 40, (uint32_t)i); int d = 0; for (int i = 0; i < 40; i++) d += (int)(v[i] % 97); return d; }

/* A machine of seven instructions. */
static NOINLINE int run(const char *code, int *stack) {
	int *sp = stack;
	for (;; code++)
		switch (*code) {
		case 'p': *sp++ = *++code - '0'; break;
		case '+': sp--; sp[-1] += sp[0]; break;
		case '*': sp--; sp[-1] *= sp[0]; break;
		case 'd': sp[0] = sp[-1]; sp++; break;
		case 'f': sp[-1] = factorial(sp[-1]); break;
		case 'm': sp[-1] = match("*a?b*", "xxacbxx") + sp[-1]; break;
		case 'r': return sp[-1];
		default: return -1;
		}
}

static NOINLINE float mixed(float a, double b, long long c, unsigned char d) { return a * (float)b + (float)(c / (d + 1)) + (float)(c % (d + 3)); }

int main(void) {
	static const char text[] = "the quick brown fox jumps over the lazy dog the fox the end of a tale of two cities and a fox";
	char line[200], copy[sizeof text];
	int stack[16], n = 0;
	at = "(1.5+2*3)/sin(0.5)-exp(-(2+1))*4";
	n += (int)expression();
	strcpy(copy, text);
	for (char *w = strtok(copy, " "); w; w = strtok(0, " ")) count(w);
	qsort(words, room, sizeof *words, by_count);
	time_t when = 1234567890;
	struct tm tm;
	gmtime_r(&when, &tm);
	n += snprintf(line, sizeof line, "%-10s|%5u|%8.3f|%g|%#x|%lld", words[0].text, words[0].count, 3.14159, 1e-7, 255, 1LL << 40);
	n += (int)strftime(line, sizeof line, "%A %d %B %Y", &tm) + (int)strtol("0x7f", 0, 0);
	double d; int i; char s[20];
	n += sscanf("12 3.5 word", "%d %lf %19s", &i, &d, s) + run("p5fp2*dm+r", stack) + (int)mixed(1.5f, 2.5, 1LL << 33, 7);
	n += (int)(fmod(pow(n, 1.5), 97) + lround(cbrt(n)));
	sink += n;
	return sink == 12345;
}
