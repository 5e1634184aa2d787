/* A store of records: parsed, kept in a tree, printed and checked. Arrays of run-time size, frames beyond 32 KB, paths that save few registers and paths that save many, nested functions where the compiler has them; no library. */
#include "lab.h"

typedef unsigned char byte;
typedef struct node { struct node *left, *right; int key, count; char name[20]; } node;
static node pool[64];
static int used;
static byte text[4000];
static int end;

static NOINLINE int measure(const char *s) { int n = 0; while (s[n]) n++; return n; }
static NOINLINE void put(int c) { if (end < (int)sizeof text) text[end++] = (byte)c; }
static NOINLINE void print(const char *s) { for (; *s; s++) put(*s); }
static NOINLINE void number(unsigned n, int base) { if (n >= (unsigned)base) number(n / base, base); put("0123456789abcdef"[n % base]); }

static NOINLINE node *insert(node **at, int key, const char *name) {
	if (!*at) {
		node *n = &pool[used++ % 64];
		n->key = key; n->count = 1; n->left = n->right = 0;
		int l = measure(name);
		for (int i = 0; i <= l && i < 20; i++) n->name[i] = name[i];
		return *at = n;
	}
	if (key == (*at)->key) { (*at)->count++; return *at; }
	return insert(key < (*at)->key ? &(*at)->left : &(*at)->right, key, name);
}
static NOINLINE int walk(node *n, int (*visit)(node *, void *), void *arg) {
	if (!n) return 0;
	int s = walk(n->left, visit, arg);
	s += visit(n, arg);
	return s + walk(n->right, visit, arg);
}
static NOINLINE int show(node *n, void *arg) { print(n->name); put(':'); number((unsigned)n->count, 10); put(*(char *)arg); return n->count; }
static NOINLINE int deepest(node *n, void *arg) { int *m = arg; if (n->key > *m) *m = n->key; return 1; }

/* Few registers on the way that is taken often, many on the other. */
NOINLINE int seldom(int a, int b, int c, int d) {
	if (a < b) return a;
	int e = measure("seldom") + c;
	if (e & 1) {
		int f = measure("one") * a, g = measure("three") * b, h = measure("seven") * c, i = measure("eleven") * d;
		number((unsigned)(f + g), 16);
		number((unsigned)(h ^ i), 16);
		return f + g * 2 + h * 3 + i * 5 + e;
	}
	put(e);
	if (d > 7) { print("d"); put(d); return d + e; }
	return e;
}
NOINLINE int rows(int n, int m) {
	int v[n][m], s = 0;
	for (int i = 0; i < n; i++) for (int j = 0; j < m; j++) v[i][j] = measure("row") * i + j;
	for (int i = 0; i < n; i++) { char w[v[i][m - 1] + 9]; fill(w, (int)sizeof w, i); s += w[0] + measure("w"); }
	number((unsigned)s, 10);
	return s + v[n - 1][m - 1];
}
NOINLINE int wide(int a) { byte b[35000]; fill(b, sizeof b, a); int c = measure("wide") + b[97]; number((unsigned)c, 8); return c + b[970]; }
NOINLINE int wider(int a, int b) { int v[20000]; fill(v, sizeof v, a); for (int i = 0; i < 3; i++) b += wide(i) * v[97 * i]; put(b); return b + v[a]; }
NOINLINE int wide_array(int n) { byte b[n * 33000], c[n + 3]; fill(b, (int)sizeof b, n); fill(c, n, n); int s = wide(n) + b[0]; put(s); return s + c[0]; }
NOINLINE int wide_seldom(int a, int b) { if (a > 3) { put(a); return b; } byte v[50000]; fill(v, sizeof v, a); return seldom(a, b, v[0], v[97]) + wide(b); }

struct token { int kind, value; const char *next; };
static NOINLINE struct token scan(const char *s) {
	struct token t = {0, 0, s};
	while (*t.next == ' ') t.next++;
	switch (*t.next) {
	case 0: return t;
	case '+': case '-': case '*': case '(': case ')': case '<': case '>': t.kind = *t.next++; return t;
	default: t.kind = '0'; while (*t.next >= '0' && *t.next <= '9') t.value = t.value * 10 + (*t.next++ - '0'); if (t.value > 999) put('!'); return t;
	}
}
static int sum(const char **at, int depth);
static NOINLINE int factor(const char **at, int depth) {
	struct token t = scan(*at);
	*at = t.next;
	if (t.kind == '-') return -factor(at, depth + 1);
	if (t.kind == '(') { int v = sum(at, depth + 1); *at = scan(*at).next; return v; }
	return t.value;
}
static NOINLINE int product(const char **at, int depth) { int v = factor(at, depth); for (;;) { struct token t = scan(*at); if (t.kind != '*') return v; *at = t.next; v *= factor(at, depth); } }
static NOINLINE int sum(const char **at, int depth) {
	int v = product(at, depth);
	for (;;) {
		struct token t = scan(*at);
		if (t.kind != '+' && t.kind != '-') return v;
		*at = t.next;
		int w = product(at, depth);
		v = t.kind == '+' ? v + w : v - w;
	}
}
static const char *const kinds[] = {"none", "some", "many", "more", "most", "all"};
NOINLINE int command(int k, int a) {
	switch (k) {
	case 0: return rows(a + 2, 3);
	case 1: print(kinds[a % 6]); return seldom(a, 1, 2, 3);
	case 2: return wide(a);
	case 3: number((unsigned)a, 2); /* fall through */
	case 4: return wide_seldom(a, k) + wide_seldom(a + 9, k);
	case 5: { const char *s = "2*(3+4)-(-5+1)*2"; return sum(&s, 0); }
	case 6: return wide_array(1);
	case 7: return wider(a, k);
	default: return -1;
	}
}
#if defined __GNUC__ && !defined __clang__
NOINLINE int counted(node *root, int least) {
	int total = 0;
	char room[least + 20];
	fill(room, least + 20, least);
	auto int NOINLINE more(node *, int);
	int NOINLINE more(node *n, int d) { if (!n) return 0; if (n->count >= least) { total += n->count; put(room[d % 20]); } return more(n->left, d + 1) + more(n->right, d + 1) + d; }
	return more(root, 1) + total;
}
#else
NOINLINE int counted(node *root, int least) { int m = least; return walk(root, deepest, &m) + m; }
#endif

int main(void) {
	node *root = 0;
	for (int i = 0; i < 12; i++) insert(&root, i * 7 % 11 + seldom(i, 3, i, 9 - i), kinds[i % 6]);
	for (int k = 0; k < 9; k++) sink += command(k, k + 1);
	char mark = ' ';
	int most = 0;
	sink += walk(root, show, &mark) + walk(root, deepest, &most) + counted(root, 1);
	return sink == 12345;
}
