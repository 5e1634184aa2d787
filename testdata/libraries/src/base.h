/* libbase: memory, order, text, and the end of the program. */
#pragma once
#include <stddef.h>
#define API __attribute__((visibility("default")))

namespace base {

API void *take(size_t bytes);
[[noreturn]] API void fail(int why);

using Less = bool (*)(const void *, const void *, void *with);
/* sort orders n pointers. */
API void sort(const void **from, size_t n, Less less, void *with);

/* Sink takes text. */
struct API Sink {
	virtual void put(char) = 0;
	virtual void text(const char *);
	virtual void number(long, unsigned base);
};

/* print knows %s, %d, %x. */
API void print(Sink &, const char *format, ...);

/* Sum is a Sink that keeps a checksum. */
struct API Sum : Sink {
	unsigned long sum = 5381;
	void put(char) override;
};

}

inline void *operator new(size_t n) { return base::take(n); }
