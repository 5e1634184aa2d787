#include "stack.h"
NI int t2(int x){char b[600];touch(b,600);return b[x&3];}
NI int t1(int x){char b[100];touch(b,100);sink+=b[1];return t2(x+1);}
NI word work(word n){char b[48];touch(b,48);switch(n){case 1:return t2(3);case 2:return 4;case 3:return t2(7)+1;case 4:return 9;case 5:return t1(8)+b[2];case 6:return 2;}return 0;}
