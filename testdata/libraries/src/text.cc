#include "text.h"

namespace text {

struct Token {
	char kind; /* of the character; '0': a number, 'a': a name */
	long value;
};

struct Lexer {
	Source &from;
	char ahead = 0;
	Token now = {};
	int depth = 0;
	void advance();
	long digits();
};

using Reader = void (*)(Lexer &);

static void number(Lexer &l) { l.now = { '0', l.digits() }; }

static void name(Lexer &l)
{
	l.now = { 'a', l.ahead - 'a' };
	l.ahead = l.from.next();
}

static void sign(Lexer &l)
{
	l.now = { l.ahead, 0 };
	if (l.ahead)
		l.ahead = l.from.next();
}

static Reader reader(char c) { return c >= '0' && c <= '9' ? number : c >= 'a' && c <= 'p' ? name : sign; }

long Lexer::digits()
{
	long v = 0;
	for (; ahead >= '0' && ahead <= '9'; ahead = from.next())
		v = 10 * v + ahead - '0';
	return v;
}

void Lexer::advance()
{
	while (ahead == ' ')
		ahead = from.next();
	return reader(ahead)(*this);
}

/* The operations of each level, the loosest first. */
static const char *const levels[] = { ",", "{", "}", "=", "|", "^", "&", "<>", "+-", "*/" };
static const unsigned kinds[][2] = { { 13, 13 }, { 9, 9 }, { 10, 10 }, { 11, 11 }, { 5, 5 }, { 6, 6 }, { 4, 4 }, { 7, 8 }, { 0, 1 }, { 2, 3 } };
enum { tightest = 10 };

template <int L> static tree::Node *level(Lexer &l);

static tree::Node *group(Lexer &l)
{
	if (++l.depth > 20)
		base::fail(5);
	l.advance();
	tree::Node *n = level<0>(l);
	if (l.now.kind != ')')
		base::fail(6);
	l.depth--;
	l.advance();
	return n;
}

static tree::Node *leaf(Lexer &l, unsigned kind)
{
	long v = l.now.value;
	l.advance();
	return tree::make(kind, nullptr, nullptr, v);
}

template <> tree::Node *level<tightest>(Lexer &l)
{
	switch (l.now.kind) {
	case '(': return group(l);
	case '0': return leaf(l, tree::operations);
	case 'a': return leaf(l, tree::operations + 1);
	}
	base::fail(7);
}

template <int L> __attribute__((noinline)) static tree::Node *level(Lexer &l)
{
	tree::Node *n = level<L + 1>(l);
	for (;;) {
		int i = 0;
		while (levels[L][i] && levels[L][i] != l.now.kind)
			i++;
		if (!levels[L][i])
			return n;
		l.advance();
		tree::Node *right = level<L + 1>(l);
		n = tree::maker(kinds[L][i])(n, right, L);
	}
}

tree::Node *parse(Source &from)
{
	Lexer l{ from };
	l.ahead = from.next();
	l.advance();
	return level<0>(l);
}

}
