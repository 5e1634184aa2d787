#include "stack.h"
NI int f(int n){char b[n];touch(b,n);return b[1];}
NI word work(word n){char b[30];touch(b,30);return f(sink+197)+b[2];}
