#include "stack.h"
NI int fact(int n){char b[24];touch(b,24);if(n<=0)return 1;return fact(n-1)*n+b[0];}
NI word work(word n){return fact(11)+n;}
