#include "stack.h"
struct ops{int(*open)(int);int(*close)(int);};
NI int o1(int x){char b[120];touch(b,120);return b[1]+x;}
NI int c1(int x){char b[60];touch(b,60);return b[1]+x;}
NI int o2(int x){char b[400];touch(b,400);return b[1]+x;}
NI int c2(int x){char b[10];touch(b,10);return b[1]+x;}
const struct ops k1={o1,c1},k2={o2,c2}; const struct ops *volatile cur;
NI word work(word n){cur=&k1;word s=cur->open(1)+cur->close(2);cur=&k2;s+=cur->open(3);return s+cur->close(n);}
