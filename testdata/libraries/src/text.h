/* libtext: reads expressions. */
#pragma once
#include "tree.h"

namespace text {

/* Source gives characters, 0 at the end. */
struct API Source {
	virtual char next() = 0;
};

API tree::Node *parse(Source &);

}
