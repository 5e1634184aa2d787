/* What code.c asks of a processor: code_mips.c, code_riscv.c, code_arm64.c, code_arm.c, code_x86.c. */
#ifndef BACKSIGHT_CODE_H
#define BACKSIGHT_CODE_H

#include "memory.h"
#include "rules.h"

/* A register's value, by the values at the beginning of a path: UNKNOWN; the number n; n bytes above register base; the word
 * there; of the stack pointer, that word less one word. */
enum value_kind { UNKNOWN, NUMBER, ADDRESS, SAVED, LOADED };
struct value {
	int32_t n;
	uint8_t kind, base;
};

/* A path through code: where it begins and is, the registers that tables name (a processor may use those that functions do not preserve
 * for others), what has been stored on it and where, and what the stack pointer was at the highest call. mode:
 * Thumb. calls: how many calls the path goes over. */
enum { STORES = 16 };
struct path {
	bs_word start, pc;
	struct value r[16], at_call;
	struct {
		struct value at, v;
	} stored[STORES];
	int mode, calls;
	struct bs_linux_pages *pages;
};

/* Where control goes. An instruction in a delay slot takes effect: never, in any case, where the branch is taken; or the
 * instruction itself does, which returns. */
enum flow_kind { NEXT, BRANCH, JUMP, CALL, RETURN, DEAD };
enum flow_slot { NO_SLOT, SLOT, TAKEN_SLOT, ITSELF };
struct flow {
	enum flow_kind kind;
	enum flow_slot slot;
	unsigned size;
	bs_word target;
};

/* code_flow tells what the instruction at the path's pc does to control; false: it cannot be read. */
int code_flow(const struct path *p, struct flow *f);

/* code_mode tells the instruction set of ARM at an address. */
int code_mode(const struct path *p);

/* code_effect does to registers what the instruction at an address does, if it is none of control. */
void code_effect(struct path *p, bs_word pc);

/* code_fills tells, on x86, whether the instruction at an address is one that fills the space between functions, or begins one (endbr64). */
int code_fills(const struct path *p, bs_word at);

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
