#include "tree.h"

namespace tree {

template <unsigned K> static inline long apply(long a, long b)
{
	switch (K) {
	case 0: return a + b;
	case 1: return a - b;
	case 2: return a * b;
	case 3: return b ? (long)((unsigned long)a / (unsigned long)b) : a;
	case 4: return a & b;
	case 5: return a | b;
	case 6: return a ^ b;
	case 7: return (long)((unsigned long)a << (b & 31));
	case 8: return a >> (b & 31);
	case 9: return a < b ? a : b;
	case 10: return a < b ? b : a;
	case 11: return a == b;
	case 12: return (a + b) / 2;
	default: return b + (a != 0);
	}
}

static const char *const names[operations] = { "+", "-", "*", "/", "&", "|", "^", "<<", ">>", " min ", " max ", "==", " mid ", "," };

template <unsigned K> struct Operation : Node {
	long evaluate(Scope &s) const override
	{
		s.steps += K % 3;
		long a = tree::evaluate(left, s);
		if (K % 4 == 3 && a == 0)
			return tree::evaluate(right, s); /* a jump to a function that jumps through a table */
		long b = tree::evaluate(right, s);
		return apply<K>(a, b);
	}
	Node *fold(Visitor &v) override
	{
		left = left->fold(v), right = right->fold(v);
		if (left->kind() == operations && right->kind() == operations)
			return make(operations, nullptr, nullptr, apply<K>(left->value, right->value));
		weight = left->weight + right->weight + K;
		return v.operation(this, K);
	}
	void show(base::Sink &to, int depth) const override
	{
		if (depth > 3 + (int)K)
			return to.text("(…)");
		to.put('(');
		tree::show(left, to, depth + 1);
		to.text(names[K]);
		tree::show(right, to, depth + 1);
		to.put(')');
	}
	Node *accept(Visitor &v) override
	{
		Node *n = v.before(this);
		if (n != this)
			return n;
		if (K % 2) {
			left = walk(left, v);
			right = walk(right, v);
		} else {
			right = walk(right, v);
			left = walk(left, v);
		}
		return v.after(this);
	}
	unsigned kind() const override { return K; }
};

struct Constant : Node {
	long evaluate(Scope &s) const override { s.steps++; return value; }
	Node *fold(Visitor &) override { return this; }
	void show(base::Sink &to, int) const override { base::print(to, value < 0 ? "(%d)" : "%d", value); }
	Node *accept(Visitor &v) override { return v.after(this); }
	unsigned kind() const override { return operations; }
};

struct Variable : Node {
	long evaluate(Scope &s) const override
	{
		if (value < 0 || value > 15)
			base::fail(3);
		return s.of[value];
	}
	Node *fold(Visitor &v) override { weight = 1; return v.operation(this, operations + 1); }
	void show(base::Sink &to, int depth) const override
	{
		const char name[] = { (char)('a' + value), 0 };
		base::print(to, depth > 9 ? "[%s]" : "%s", name);
	}
	Node *accept(Visitor &v) override { return v.after(v.before(this)); }
	unsigned kind() const override { return operations + 1; }
};

template <class T> static Node *made(Node *left, Node *right, long value)
{
	Node *n = new T;
	n->left = left, n->right = right, n->value = value;
	return n;
}

static const Maker makers[operations + leaf] = {
	made<Operation<0>>, made<Operation<1>>, made<Operation<2>>, made<Operation<3>>, made<Operation<4>>,
	made<Operation<5>>, made<Operation<6>>, made<Operation<7>>, made<Operation<8>>, made<Operation<9>>,
	made<Operation<10>>, made<Operation<11>>, made<Operation<12>>, made<Operation<13>>, made<Constant>, made<Variable>,
};

Maker maker(unsigned kind)
{
	if (kind >= operations + leaf)
		base::fail(4);
	return makers[kind];
}

Node *make(unsigned kind, Node *left, Node *right, long value) { return maker(kind)(left, right, value); }

Node *walk(Node *n, Visitor &v)
{
	v.seen++;
	return n->accept(v);
}

long evaluate(const Node *n, Scope &s) { return n->evaluate(s); }

void show(const Node *n, base::Sink &to, int depth) { n->show(to, depth); }

}
