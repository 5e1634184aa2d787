#include "machine.h"

namespace machine {

struct State {
	long *top;
	tree::Scope *scope;
	int nested;
};

struct Code;
using Step = void (*)(State &, const Code *);

struct Code {
	Step step;
	long arg;
};

static void constant(State &s, const Code *c) { *s.top++ = c->arg; return c[1].step(s, c + 1); }

static void variable(State &s, const Code *c)
{
	*s.top++ = s.scope->of[c->arg];
	return c[1].step(s, c + 1); /* threaded code: one jump after the other */
}

static void stop(State &, const Code *) {}

/* Value is an operand of a node that only lives for one operation. */
struct Value : tree::Node {
	long evaluate(tree::Scope &) const override { return value; }
	tree::Node *fold(tree::Visitor &) override { return this; }
	void show(base::Sink &to, int) const override { base::print(to, "<%x>", value); }
	tree::Node *accept(tree::Visitor &) override { return this; }
	unsigned kind() const override { return tree::operations; }
};

static void binary(State &s, const Code *c)
{
	Value a, b;
	b.value = *--s.top, a.value = *--s.top;
	tree::Node *n = tree::make((unsigned)c->arg, &a, &b, 0);
	*s.top++ = tree::evaluate(n, *s.scope);
	return c[1].step(s, c + 1);
}

/* called runs a subexpression on a stack of its own. */
static void called(State &s, const Code *c)
{
	const Code *body = (const Code *)c->arg;
	long *stack = (long *)__builtin_alloca(sizeof(long) * (size_t)(8 + (s.nested & 7) * 2));
	State inner = { stack, s.scope, s.nested + 1 };
	body->step(inner, body);
	*s.top++ = inner.top[-1];
	return c[1].step(s, c + 1);
}

struct Compiler {
	Code *at;
	void add(Step step, long arg) { *at++ = { step, arg }; }
	void compile(const tree::Node *, int depth);
	static Code *whole(const tree::Node *, int depth);
};

void Compiler::compile(const tree::Node *n, int depth)
{
	if (n->kind() == tree::operations)
		return add(constant, n->value);
	if (n->kind() > tree::operations)
		return add(variable, n->value);
	const tree::Node *const operands[] = { n->left, n->right };
	for (const tree::Node *k : operands)
		if (k->kind() < tree::operations)
			add(called, (long)whole(k, depth + 1));
		else
			compile(k, depth + 1);
	add(binary, n->kind());
}

Code *Compiler::whole(const tree::Node *n, int depth)
{
	Code scratch[8];
	Compiler c{ scratch };
	c.compile(n, depth);
	c.add(stop, 0);
	size_t many = (size_t)(c.at - scratch);
	Code *kept = (Code *)base::take(many * sizeof *kept);
	for (size_t i = 0; i < many; i++)
		kept[i] = scratch[i];
	return kept;
}

long run(tree::Node *n, tree::Scope &scope)
{
	long stack[16];
	State s = { stack, &scope, 0 };
	const Code *c = Compiler::whole(n, 0);
	c->step(s, c);
	return s.top[-1];
}

}
