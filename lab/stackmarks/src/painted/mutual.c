#include "stack.h"
NI int odd(int n);
NI int even(int n){char b[40];touch(b,40);if(n==0)return 1;return odd(n-1)+b[1];}
NI int odd(int n){char b[72];touch(b,72);if(n==0)return 0;return even(n-1)+b[2];}
NI word work(word n){return even(15)+1;}
