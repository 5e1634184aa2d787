/* libpass: what is done to expressions, one pass after the other. */
#pragma once
#include "tree.h"

namespace pass {

struct API Pass {
	virtual tree::Node *run(tree::Node *) = 0;
	virtual const char *name() const = 0;
};

using Observer = void (*)(Pass &, tree::Node *, void *with);

enum { passes = 5 };
API Pass *get(unsigned number);
API tree::Node *all(tree::Node *, Observer, void *with);

}
