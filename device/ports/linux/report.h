/* The parts of a report, each line of which is written before the next frame is looked for. */
#ifndef BACKSIGHT_LINUX_REPORT_H
#define BACKSIGHT_LINUX_REPORT_H

#include "line.h"

/* bs_report_begin writes the first line and bs_report_end the last one; why: enum bs_stop. */
void bs_report_begin(struct bs_line *l);
void bs_report_end(struct bs_line *l, enum bs_stop why);

/* bs_report_registers writes the general registers that a signal has interrupted. */
void bs_report_registers(struct bs_line *l, const void *ucontext);

/* bs_report_frames walks from there, and returns why there is no further frame. Of a recursion the first frame has a line, and
 * the next line's number tells how many there are. */
enum bs_stop bs_report_frames(struct bs_line *l, const void *ucontext);

#endif
