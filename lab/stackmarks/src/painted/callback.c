#include "stack.h"
NI int cmp(int a,int b){char x[88];touch(x,88);return a-b+x[0]*0;}
NI int sort(int*v,int n,int(*f)(int,int)){int s=0;for(int i=1;i<n;i++)for(int j=i;j>0&&f(v[j-1],v[j])>0;j--){int t=v[j];v[j]=v[j-1];v[j-1]=t;s++;}return s;}
NI word work(word n){int v[20];for(int i=0;i<20;i++)v[i]=(i*7+sink)%20;return sort(v,20,cmp)+v[n];}
