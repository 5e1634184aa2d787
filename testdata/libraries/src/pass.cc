#include "pass.h"

namespace pass {

using tree::Node;
using tree::Visitor;

/* Walker is a pass that sees each node. */
struct Walker : Pass, Visitor {
	Node *run(Node *n) override { return tree::walk(n, *this); }
	Node *before(Node *n) override { return n; }
	Node *after(Node *n) override { return n; }
	Node *operation(Node *n, unsigned) override { return n; }
};

struct Fold : Walker {
	Node *run(Node *n) override { return n->fold(*this); }
	const char *name() const override { return "fold"; }
	Node *operation(Node *n, unsigned kind) override
	{
		seen += kind;
		if (kind == 1 && n->left->kind() == tree::operations + 1 && n->left->value == 15)
			return tree::make(tree::operations, nullptr, nullptr, 0);
		return n;
	}
};

/* Weigh counts what lies below each node. */
struct Weigh : Walker {
	const char *name() const override { return "weigh"; }
	Node *after(Node *n) override
	{
		n->weight = 1 + (n->left ? n->left->weight : 0) + (n->right ? n->right->weight : 0);
		return n;
	}
};

static bool lighter(const void *a, const void *b, void *with)
{
	++*(long *)with;
	const Node *x = (const Node *)a, *y = (const Node *)b;
	return x->weight < y->weight || (x->weight == y->weight && x->kind() < y->kind());
}

/* Order sorts the operands of sums of sums. */
struct Order : Walker {
	const char *name() const override { return "order"; }
	Node *after(Node *n) override
	{
		if (n->kind() >= 3 && n->kind() != 5)
			return n;
		const void *parts[32];
		size_t many = gather(n, n->kind(), parts, 0);
		base::sort(parts, many, lighter, &seen);
		return many < 3 ? n : chain(parts, many, n->kind());
	}
	static size_t gather(Node *n, unsigned kind, const void **to, size_t many)
	{
		if (n->kind() != kind || many > 24 || kind == 1) {
			to[many++] = n;
			return many;
		}
		many = gather(n->left, kind, to, many);
		return gather(n->right, kind, to, many);
	}
	static Node *chain(const void **parts, size_t many, unsigned kind)
	{
		Node *n = (Node *)parts[0];
		for (size_t i = 1; i < many; i++)
			n = tree::make(kind, n, (Node *)parts[i], 0);
		return n;
	}
};

/* Try evaluates each subtree, as a test of the other passes would. */
struct Try : Walker {
	long sum = 0;
	const char *name() const override { return "try"; }
	Node *before(Node *n) override
	{
		tree::Scope s;
		for (int i = 0; i < 16; i++)
			s.of[i] = seen * i;
		s.steps = 0;
		sum += tree::evaluate(n, s);
		return n;
	}
};

struct Print : Walker {
	base::Sum to;
	const char *name() const override { return "print"; }
	Node *run(Node *n) override
	{
		base::print(to, "%s %x: ", name(), n->weight);
		tree::show(n, to, 0);
		return n;
	}
};

template <class T> static Pass *one()
{
	static T *made;
	if (!made)
		made = new T;
	return made;
}

static Pass *(*const table[passes])() = { one<Weigh>, one<Order>, one<Try>, one<Print>, one<Fold> };

Pass *get(unsigned number) { return table[number % passes](); }

static Node *observed(Pass *p, Node *n, Observer tell, void *with)
{
	n = p->run(n);
	tell(*p, n, with);
	return n;
}

Node *all(Node *n, Observer tell, void *with)
{
	for (unsigned i = 0; i < passes; i++)
		n = observed(get(i), n, tell, with);
	return n;
}

}
