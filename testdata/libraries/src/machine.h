/* libmachine: compiles expressions to a stack machine's code and runs it. */
#pragma once
#include "tree.h"

namespace machine {

API long run(tree::Node *, tree::Scope &);

}
