#include "base.h"
#include <stdarg.h>

extern "C" {
API void *memset(void *to, int c, size_t n) { for (volatile char *p = (char *)to; n--;) *p++ = (char)c; return to; }
API void *memcpy(void *to, const void *from, size_t n)
{
	volatile char *p = (char *)to;
	for (const char *q = (const char *)from; n--;)
		*p++ = *q++;
	return to;
}
API void __cxa_pure_virtual() { base::fail(2); }
}

namespace base {

static char room[1 << 20];
static size_t used;

static volatile int reason;

void fail(int why)
{
	reason = why;
	__builtin_trap();
}

void *take(size_t n)
{
	n = (n + 15) & ~(size_t)15;
	if (n > sizeof room - used)
		fail(1);
	used += n;
	return room + used - n;
}

template <class T> static void swap(T &a, T &b) { T c = a; a = b; b = c; }

static size_t median(const void **v, size_t n, Less less, void *with)
{
	size_t a = 0, b = n / 2, c = n - 1;
	if (less(v[b], v[a], with))
		swap(a, b);
	if (less(v[c], v[b], with))
		return less(v[c], v[a], with) ? a : c;
	return b;
}

void sort(const void **v, size_t n, Less less, void *with)
{
	while (n > 1) {
		swap(v[0], v[median(v, n, less, with)]);
		size_t last = 0;
		for (size_t i = 1; i < n; i++)
			if (less(v[i], v[0], with))
				swap(v[i], v[++last]);
		swap(v[0], v[last]);
		sort(v, last, less, with);
		v += last + 1, n -= last + 1;
	}
}

void Sink::text(const char *s)
{
	while (*s)
		put(*s++);
}

void Sink::number(long v, unsigned base)
{
	unsigned long u = v < 0 ? -(unsigned long)v : (unsigned long)v;
	if (v < 0)
		put('-');
	if (u >= base)
		number((long)(u / base), base);
	put("0123456789abcdef"[u % base]);
}

void Sum::put(char c) { sum = sum * 33 + (unsigned char)c; }

static void one(Sink &to, char how, va_list *args)
{
	switch (how) {
	case 's': return to.text(va_arg(*args, const char *));
	case 'd': return to.number(va_arg(*args, long), 10);
	case 'x': return to.number(va_arg(*args, long), 16);
	}
	fail(how);
}

void print(Sink &to, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	for (; *format; format++)
		if (*format == '%')
			one(to, *++format, &args);
		else
			to.put(*format);
	va_end(args);
}

}
