/* The report of a microcontroller, as docs/device.md describes version 1:
 *
 *     backsight: report 1
 *     cfsr: 00008200 hfsr: 40000000 …       the cause, by the processor's registers
 *     r0: a0000000 r1: 00000001 …           what ran
 *     #0 0x00000014                         where it stood
 *     #1 0x00000024                         where calls return to
 *     #2 0x00000136 interrupted             where an exception came
 *     build: b3ebaef2d8865d1c27311d9441ffc06cb06e28be
 *     thread: sensor                        what hooks say
 *     task: logger                          another task, and where it stands
 *     #0 0x00000210
 *     backsight: end 0                      why the walk ended, an enum bs_stop
 *
 * Each line is printed before the next is looked for: what is known is out, whatever happens then. A
 * port includes this file once. */
#ifndef BACKSIGHT_REPORT_H
#define BACKSIGHT_REPORT_H

#include "hooks.h"

enum { REPORT_LINES = 32, REPORT_FRAMES = 1024, REPORT_TASKS = 64, REPORT_NAME = 32 };

static void report_text(const char *s)
{
	for (; *s; s++)
		bs_put(0, *s);
}

static void report_hex(bs_word v, int digits)
{
	for (; digits > 0; digits--)
		bs_put(0, "0123456789abcdef"[v >> 4 * (digits - 1) & 15]);
}

static void report_number(uint32_t v)
{
	char digits[10];
	int n = 0;

	do
		digits[n++] = (char)('0' + v % 10);
	while ((v /= 10) != 0);
	while (n > 0)
		bs_put(0, digits[--n]);
}

/* report_value prints a register; names end in a colon. */
static void report_value(const char *name, bs_word v)
{
	report_text(name);
	bs_put(0, ' ');
	report_hex(v, 2 * BS_WORD);
	bs_put(0, ' ');
}

static void report_frame(uint32_t n, const struct bs_regs *regs)
{
	bs_put(0, '#');
	report_number(n);
	report_text(" 0x");
	report_hex(regs->pc, 2 * BS_WORD);
	if (n > 0 && regs->exact)
		report_text(" interrupted");
	if (regs->guessed)
		report_text(" ?");
	bs_put(0, '\n');
}

/* report_frames prints a frame and its callers, and returns why there is no further one. Of a recursion the first
 * frame has a line, and the next line's number tells how many there are. */
static enum bs_stop report_frames(const struct bs_world *world, struct bs_regs *regs)
{
	enum bs_stop why;
	bs_word last = ~regs->pc;
	uint32_t n, lines = 0;

	for (n = 0; n < REPORT_FRAMES; n++) {
		if (regs->pc != last && lines++ < REPORT_LINES)
			report_frame(n, regs);
		last = regs->pc;
		if (lines > REPORT_LINES)
			break;
		if (!bs_step(world, regs, &why) && !(bs_interrupted && bs_interrupted(world, regs)))
			return why;
	}
	return BS_LIMIT;
}

/* report_name prints a text that may be damaged, of a processor that is little-endian. */
static void report_name(const struct bs_world *world, bs_word at)
{
	bs_word word, c;
	int i;

	for (i = 0; i < REPORT_NAME && bs_load(world, at & ~(bs_word)(BS_WORD - 1), &word); i++, at++) {
		c = word >> 8 * (at % BS_WORD) & 0xff;
		if (c < ' ' || c > '~')
			return;
		bs_put(0, (char)c);
	}
}

static void report_tasks(const struct bs_world *world, struct bs_regs *regs)
{
	bs_word name;
	uint32_t i;

	for (i = 0; bs_task && i < REPORT_TASKS && bs_task(world, i, regs, &name); i++) {
		report_text("task: ");
		report_name(world, name);
		bs_put(0, '\n');
		if (regs->known)
			report_frames(world, regs);
	}
}

/* report_end prints which build this is, what hooks say, the other tasks, for which it uses regs, and the end. */
static void report_end(const struct bs_world *world, struct bs_regs *regs, enum bs_stop why)
{
	const uint8_t *identity = backsight_table ? backsight_table + 64 : 0;
	uint32_t i;

	if (identity && identity[0] <= 20) {
		report_text("build: ");
		for (i = 0; i < identity[0]; i++)
			report_hex(identity[1 + i], 2);
		bs_put(0, '\n');
	}
	if (bs_thread) {
		report_text("thread: ");
		report_text(bs_thread());
		bs_put(0, '\n');
	}
	if (bs_firmware) {
		report_text("firmware: ");
		report_text(bs_firmware());
		bs_put(0, '\n');
	}
	if (bs_uptime) {
		report_text("uptime: ");
		report_number(bs_uptime());
		bs_put(0, '\n');
	}
	report_tasks(world, regs);
	report_text("backsight: end ");
	report_number(why);
	bs_put(0, '\n');
}

#endif
