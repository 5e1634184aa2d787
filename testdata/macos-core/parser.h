struct node {
	int kind;
	volatile int value;
};

typedef int visitor(void *context);

/* Calls visit with a buffer of 4 kB on the stack. */
int with_buffer(visitor *visit, void *context);
