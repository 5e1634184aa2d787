#include "stack.h"
NI int leaf(int*p){p[3]=sink;return p[2];}
NI int big(int n){char b[9000];touch(b,9000);int q[8]={1,2,3};return leaf(q)+b[n];}
NI word work(word n){char z[20];touch(z,20);return big(n)+z[1];}
