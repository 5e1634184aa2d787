/* Functions without frame pointers: compact unwind says how large their frames are, or where in
   the function that stands. */
#include "parser.h"

/* Six registers are saved and none is the frame pointer. */
static __attribute__((noinline)) int busy(visitor *visit, void *context, volatile char *buffer)
{
	int a = buffer[0], b = buffer[1], c = buffer[2], d = buffer[3];
	int r = visit(context);
	return r + a * b + c * d + a * d;
}

/* The frame is too large for the encoding: its size is an operand of the function's sub. */
int with_buffer(visitor *visit, void *context)
{
	volatile char buffer[4096];
	for (int i = 0; i < 8; i++)
		buffer[i] = 0;
	return busy(visit, context, buffer) + buffer[7];
}
