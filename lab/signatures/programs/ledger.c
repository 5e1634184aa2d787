// A ledger with a small language and twenty bugs, each behind two ways to it: ledger BUG WAY. Nothing keeps the compiler from
// inlining. A bug that hangs waits for a signal from outside.
#include <assert.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct entry { struct entry *next; long amount; char memo[40]; };
struct account { char *name; int number; long balance; struct entry *entries; struct account *parent; long (*rate)(struct account *); };
struct book { struct account *list[16]; int count; pthread_mutex_t lock, journal; long total; };
struct parser { const char *at; int depth; char token[16]; struct book *book; };

static struct book book;
static volatile int zero;
static volatile long sink;
static volatile int table[64];
// What the compiler does not know.
static struct account *volatile missing;
static const char *volatile given;
static char *volatile kept;

static void die(const char *format, ...) {
	va_list args;
	va_start(args, format);
	fputs("ledger: ", stderr);
	vfprintf(stderr, format, args);
	va_end(args);
	abort();
}
static long flat_rate(struct account *a) { return a->balance / 50; }
static struct account *open_account(struct book *b, const char *name, int number) {
	struct account *a = calloc(1, sizeof *a);
	if (!a || b->count == 16) die("no room for account %s\n", name);
	a->name = strdup(name); a->number = number; a->rate = flat_rate;
	printf("account %d: %s\n", number, name);
	return b->list[b->count++] = a;
}
static struct account *find_account(struct book *b, int number) {
	for (int i = 0; i < b->count; i++)
		if (b->list[i]->number == number) return b->list[i];
	fprintf(stderr, "account %d was never opened\n", number);
	return missing;
}
static void post(struct account *a, long amount, const char *memo) {
	struct entry *e = malloc(sizeof *e);
	e->amount = amount; e->next = a->entries; a->entries = e;
	snprintf(e->memo, sizeof e->memo, "%s", memo);
	a->balance += amount;
}
#ifdef ELSEWHERE
static long audit(struct book *b, FILE *f) {
	long sum = 0;
	for (int i = 0; i < b->count; i++)
		for (struct entry *e = b->list[i]->entries; e; e = e->next) sum += e->amount * fprintf(f, "%s %ld\n", e->memo, e->amount);
	return sum;
}
long trial_balance(void) { long n = audit(&book, stderr) % 104729; fprintf(stderr, "trial balance %ld\n", n); return n; }
#endif
// A recursive-descent parser: sums of products of numbers, accounts and brackets.
static long sum(struct parser *p);
static long factor(struct parser *p) {
	while (*p->at == ' ') p->at++;
	if (*p->at == '(') {
		p->at++;
		p->depth++;
		long v = sum(p);
		if (*p->at == ')') p->at++;
		return v;
	}
	if (*p->at == '#') {
		int n = strtol(p->at + 1, (char **)&p->at, 10);
		return find_account(p->book, n)->balance;
	}
	return strtol(p->at, (char **)&p->at, 10);
}
static long product(struct parser *p) {
	long v = factor(p);
	while (*p->at == '*' || *p->at == '/') {
		char op = *p->at++;
		long w = factor(p);
		v = op == '*' ? v * w : v / w;
	}
	return v;
}
static long sum(struct parser *p) {
	long v = product(p);
	while (*p->at == '+' || *p->at == '-') {
		char op = *p->at++;
		long w = product(p);
		v = op == '+' ? v + w : v - w;
	}
	return v;
}
static long evaluate(const char *text) {
	struct parser p = {text, 0, "", &book};
	long v = sum(&p);
	printf("%.20s = %ld\n", text, v);
	if (*p.at == ')') die("unbalanced bracket at \"%s\"\n", p.at);
	return v;
}
static void word(struct parser *p) {
	char token[16];
	kept = token;
	printf("word of %zu\n", strlen(p->at));
	strcpy(token, p->at); // no bound
	strcpy(p->token, token + zero);
	kept = p->token;
}
static void compare_names(struct account *a, const char *name) {
	fprintf(stderr, "looking for a name in %d\n", a->number);
	if (strlen(name) + zero > 3) sink++;
}
static long interest(struct account *a, int months) { printf("interest over %d months\n", months); return a->balance * 12 / months; }
static long compound(struct account *a) { fprintf(stderr, "compound %s\n", a->name); long r = a->rate(a); return r + a->balance / 7; }
static void fill(struct account *a, long *out) { printf("fill for %s\n", a->name); out[zero] = a->balance; sink++; }
static void statement(struct account *a, size_t n) {
	char *text = malloc(24), *more = malloc(24);
	kept = text;
	fprintf(stderr, "statement of %zu\n", n);
	memset(kept, 'x', n);
	kept = more;
	free(more);
	free(text);
}
static long column(int n) { printf("column %d\n", n); return table[n] + table[n + 1]; }
static void close_account(struct account *a) { printf("closing %s\n", a->name); free(a->entries); sink += a->number; }
static long last_amount(struct account *a) { fprintf(stderr, "last entry of %s\n", a->name); return a->entries->next->amount; }
static void reuse(struct account *a) {
	free(a);
	char *s = malloc(sizeof *a);
	kept = s;
	memset(s, 'A', sizeof *a);
	puts("reused");
	sink += a->rate(a) + s[3];
}
static void merge(struct account *a, struct account *b) { printf("merge %d into %d\n", a->number, b->number); free(a->name); b->balance += a->balance; free(a->name); }
static void shrink(struct account *a) { fprintf(stderr, "shrink %s\n", a->name); a->name = realloc(a->name + 4, 8); sink++; }
static void check_balance(struct account *a) { printf("check %ld\n", a->balance); assert(a->balance >= 0 && "overdrawn"); sink++; }
static void check_number(struct account *a) { if (a->number > 90) die("account number %d out of range\n", a->number); sink++; }
static long year(struct account *a, int n) { long days[40000]; kept = (char *)days; memset(days, n, sizeof days); printf("year %d\n", n); return days[n] + year(a, n + 1) + days[7]; }
static void transfer(struct book *b) { pthread_mutex_lock(&b->lock); puts("transfer"); pthread_mutex_lock(&b->lock); b->total++; pthread_mutex_unlock(&b->lock); }
static void *other(void *arg) { struct book *b = arg; pthread_mutex_lock(&b->journal); usleep(100000); pthread_mutex_lock(&b->lock); b->total--; return 0; }
static void closing(struct book *b) {
	pthread_t t;
	pthread_mutex_lock(&b->lock);
	pthread_create(&t, 0, other, b);
	usleep(200000);
	fprintf(stderr, "closing the journal\n");
	pthread_mutex_lock(&b->journal);
	b->total += 2;
}
static long archive(void) {
	FILE *f = tmpfile();
	fputs("archive", f); fflush(f);
	char *p = mmap(0, 8192, PROT_READ, MAP_SHARED, fileno(f), 0);
	puts("mapped");
	return p[4096 + zero] + p[1];
}

__attribute__((noinline)) static void command(int n, struct account *a, struct account *b) {
	struct parser p = {given, 0, "", &book};
	switch (n) {
	case 1: sink = evaluate("(2+#77)*3"); break;
	case 2: fill(a, (long *)missing); break;
	case 3: a->rate = (long (*)(struct account *))missing; sink = compound(a); break;
	case 4: compare_names(a, (const char *)missing); break;
	case 5: word(&p); break;
	case 6: statement(a, 120 + zero); break;
	case 7: sink = column((1 << 28) + zero); break;
	case 8: post(a, 5, "one"); post(a, 6, "two"); close_account(a); sink = last_amount(a); break;
	case 9: reuse(a); break;
	case 10: merge(a, b); break;
	case 11: shrink(a); break;
	case 12: post(a, -5, "minus"); check_balance(a); break;
	case 13: a->number = 99; check_number(a); break;
	case 14: sink = evaluate("2*3)"); break;
	case 15: { char *deep = malloc(1 << 22); memset(deep, '(', 1 << 22); deep[(1 << 22) - 1] = 0; sink = evaluate(deep); break; }
	case 16: sink = year(a, 0); break;
	case 17: transfer(&book); break;
	case 18: closing(&book); break;
	case 19: sink = interest(a, zero); break;
	case 20: sink = archive(); break;
	}
	sink += n;
}
static void batch(int n, int left, struct account *a, struct account *b) {
	char line[64];
	snprintf(line, sizeof line, "batch of %d\n", left);
	fputs(line, stderr);
	if (left > 0) batch(n, left - 1, a, b); else command(n, a, b);
	sink += line[1];
}
__attribute__((noinline)) static void interactive(int n, struct account *a, struct account *b) { puts("> "); command(n, a, b); sink += 3; }
__attribute__((noinline)) static void from_file(int n, struct account *a, struct account *b) { batch(n, 5, a, b); sink += 4; }

int main(int argc, char **argv) {
	setvbuf(stdout, 0, _IONBF, 0);
	static char text[4000];
	given = memset(text, 'w', sizeof text - 1);
	pthread_mutex_init(&book.lock, 0); pthread_mutex_init(&book.journal, 0);
	struct account *a = open_account(&book, "current", 1), *b = open_account(&book, "savings", 2);
#ifdef ELSEWHERE
	if (argc > 5) return trial_balance();
#endif
	if (argc > 2 && atoi(argv[2])) from_file(atoi(argv[1]), a, b); else interactive(atoi(argv[1]), a, b);
	return 0;
}
