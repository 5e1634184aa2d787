#include "stack.h"
NI int a(int x){char b[32];touch(b,32);return b[x&3];}
NI int b(int x){char b[320];touch(b,320);return b[x&3];}
NI int c(int x){char b[80];touch(b,80);return b[x&3];}
static int (*const table[])(int)={a,b,c};
NI word work(word n){word s=0;for(int i=0;i<3;i++)s+=table[(i+sink)%3](i);return s;}
