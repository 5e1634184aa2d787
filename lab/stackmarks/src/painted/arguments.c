#include "stack.h"
NI int many(int a,int b,int c,int d,int e,int f,int g,int h,int i,int j,int k,int l){char x[50];touch(x,50);return a+b+c+d+e+f+g+h+i+j+k+l+x[a&7];}
NI word work(word n){int v=sink;return many(v,v+1,v+2,v+3,v+4,v+5,v+6,v+7,v+8,v+9,v+10,n)+v;}
