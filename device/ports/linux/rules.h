/* Rules of this process' code, whoever knows them. */
#ifndef BACKSIGHT_RULES_H
#define BACKSIGHT_RULES_H

#include "modules.h"

/* The sources, in the order in which they are asked: the module's table, what its linker made of the compiler's tables, and
 * its code. -DBS_NO_FRAMES and -DBS_NO_CODE take the latter two away. at and exact are as bs_world.rule has them. False: not known. */
int bs_linux_by_frames(const struct bs_linux_module *m, bs_word at, struct bs_rule *rule);
int bs_linux_by_code(const struct bs_linux_module *m, bs_word at, int exact, struct bs_rule *rule);

/* bs_linux_rule is bs_world.rule: asks the sources, once for an address as long as the modules stay as they are. */
int bs_linux_rule(void *context, const struct bs_world *world, bs_word at, int exact, struct bs_rule *rule, enum bs_stop *why);

#endif
