#include "stack.h"
struct s{int v[60];};
NI int by(struct s s,int k){touch((char*)&s,240);return s.v[k];}
NI word work(word n){struct s s;touch((char*)&s,240);return by(s,n&3)+s.v[1];}
