#include "stack.h"
NI int c3(int x){char b[40];touch(b,40);return b[x&7];}
NI int c2(int x){char b[200];touch(b,200);return c3(x)+b[3];}
NI int c1(int x){char b[16];touch(b,16);return c2(x+1)+b[2];}
NI word work(word n){char b[64];touch(b,64);return c1(n)+b[1];}
