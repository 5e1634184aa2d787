#include "stack.h"
NI int use(char*p,int n){touch(p,n);return p[0];}
NI int dyn(unsigned n){n&=127;char*p=__builtin_alloca(n+1);return use(p,n+1)+p[0];}
NI word work(word n){return dyn(sink+124)+1;}
