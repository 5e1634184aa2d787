/* What code.c asks of a processor: code_mips.c, code_riscv.c, code_arm64.c. */
#ifndef BACKSIGHT_CODE_H
#define BACKSIGHT_CODE_H

#include "memory.h"
#include "rules.h"

/* A register's value, by the values at the beginning of a path: UNKNOWN; the number n; n bytes above register base; the word
 * there. */
enum value_kind { UNKNOWN, NUMBER, ADDRESS, SAVED };
struct value {
	int32_t n;
	uint8_t kind, base;
};

/* A path through code: where it is, the registers that tables name (a processor may use those that functions do not preserve
 * for others), and where the first value of each has been stored on it. */
struct path {
	bs_word pc;
	struct value r[16], stored[16];
	struct bs_linux_pages *pages;
};

/* Where control goes. An instruction in a delay slot takes effect: never, in any case, where the branch is taken. */
enum flow_kind { NEXT, BRANCH, JUMP, CALL, RETURN, DEAD };
enum flow_slot { NO_SLOT, SLOT, TAKEN_SLOT };
struct flow {
	enum flow_kind kind;
	enum flow_slot slot;
	unsigned size;
	bs_word target;
};

/* code_flow tells what the instruction at the path's pc does to control; false: it cannot be read. */
int code_flow(const struct path *p, struct flow *f);

/* code_effect does to registers what the instruction at an address does, if it is none of control. */
void code_effect(struct path *p, bs_word pc);

/* code_fetch reads so many bytes (2 or 4) of code. */
int code_fetch(const struct path *p, bs_word at, unsigned size, uint32_t *value);

/* What instructions do; numbers of registers may be -1. */
void code_forget(struct path *p, int r);
void code_number(struct path *p, int r, int32_t n);
void code_add(struct path *p, int to, int from, int32_t n);
void code_sum(struct path *p, int to, int a, int b, int sign);
void code_load(struct path *p, int to, int base, int32_t n);
void code_store(struct path *p, int from, int base, int32_t n);

#endif
