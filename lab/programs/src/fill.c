#include "lab.h"
volatile int sink;
NOINLINE void fill(void *p, int n, int v) { for (int i = 0; i < n; i += 97) ((volatile unsigned char *)p)[i] = (unsigned char)(v + i); }
