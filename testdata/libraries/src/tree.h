/* libtree: expressions. Each operation is a class of its own. */
#pragma once
#include "base.h"

namespace tree {

/* Scope has the values of the variables a … p. */
struct Scope {
	long of[16];
	long steps;
};

enum { operations = 14, leaf = 2 };

struct Visitor;

struct API Node {
	Node *left = nullptr, *right = nullptr;
	long value = 0, weight = 0;
	virtual long evaluate(Scope &) const = 0;
	virtual Node *fold(Visitor &) = 0;
	virtual void show(base::Sink &, int depth) const = 0;
	virtual Node *accept(Visitor &) = 0;
	virtual unsigned kind() const = 0;
};

/* Visitor is shown a tree; what it returns takes the node's place. */
struct API Visitor {
	long seen = 0;
	virtual Node *before(Node *n) = 0;
	virtual Node *after(Node *n) = 0;
	virtual Node *operation(Node *, unsigned kind) = 0;
};

using Maker = Node *(*)(Node *left, Node *right, long value);
/* maker makes nodes of a kind: below operations those, then constants and variables. */
API Maker maker(unsigned kind);
API Node *make(unsigned kind, Node *left, Node *right, long value);
/* walk shows a tree to a visitor, evaluate is its value. */
API Node *walk(Node *, Visitor &);
API long evaluate(const Node *, Scope &);
API void show(const Node *, base::Sink &, int depth);

}
