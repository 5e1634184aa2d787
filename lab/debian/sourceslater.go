package debian

const (
	typst = `#set page(width: 9cm)
= Frames <a>
#let f(n) = if n < 2 { n } else { f(n - 1) + f(n - 2) }
The value is #f(9), see @a. $ sum_(k=0)^n k = (n(n+1))/2 $
#table(columns: 3, ..range(9).map(str))
`

	proto = `syntax = "proto3";
package a.b;
import "google/protobuf/any.proto";
message Tree { Tree left = 1; repeated int32 values = 2 [packed = true]; oneof kind { string s = 3; bytes b = 4; } map<string, Tree> all = 5; reserved 9 to 12; }
enum Colour { COLOUR_NONE = 0; COLOUR_RED = 1; }
service Walk { rpc Go(stream Tree) returns (Tree) { option deprecated = true; } }
`

	golang = `package main

type tree[T any] struct {
	left, right *tree[T]
	v           T
}

func (t *tree[T]) walk(f func(T)) {
	if t == nil {
		return
	}
	defer t.right.walk(f)
	t.left.walk(f)
	f(t.v)
}

func main() {
	m, s := map[string]int{}, []int{3, 1, 2}
	for i, v := range s {
		switch {
		case v > 2:
			m["a"] += v
		default:
			s = append(s[:i:i], v)
		}
	}
	c := make(chan int, 1)
	go func() { c <- len(m) }()
	(&tree[int]{v: <-c}).walk(func(v int) { println(v) })
}
`

	zig = `const Tree = struct { left: ?*Tree, v: u32 };
fn fib(comptime T: type, n: T) T {
    return if (n < 2) n else fib(T, n - 1) + fib(T, n - 2);
}
pub fn main() !void {
    var t = Tree{ .left = null, .v = fib(u32, 9) };
    while (t.v > 3) : (t.v -= 1) {
        switch (t.v) {
            0...5 => {},
            else => |x| if (x == 7) continue,
        }
    }
}
`

	cplusplus = `template <class T> struct tree { tree *left, *right; T v; ~tree() { delete left; delete right; } };
template <class T, class F> void walk(const tree<T> *t, F f) { if (t) { walk(t->left, f); f(t->v); walk(t->right, f); } }
struct shape { virtual double area() const = 0; virtual ~shape() {} };
struct square final : shape { double a; explicit square(double a) : a(a) {} double area() const override { return a * a; } };
int sum(const tree<int> *t) { int s = 0; try { walk(t, [&](int v) { if (v < 0) throw v; s += v % 7 ? v : s << 1; }); } catch (int e) { s = e; } return s; }
double areas(shape **s, unsigned n) { double a = 0; for (unsigned i = 0; i < n; i++) a += s[i]->area(); return a; }
`

	formula = `(declare-fun x () Int) (declare-fun y () Int) (declare-fun a () (Array Int Int)) (declare-fun b () (_ BitVec 16))
(assert (and (> x 3) (< (+ x (* 2 y)) 40) (= (mod x 7) 5) (distinct x y)))
(assert (= (select (store a x 9) y) (+ x 1))) (assert (bvult (bvmul b #x0011) #x0100)) (assert (bvugt b #x0007))
(check-sat) (get-model)
(push) (assert (forall ((z Int)) (=> (> z x) (> (* z z) y)))) (check-sat) (pop)
`

	pascal = `program frames;
type list = ^node; node = record v: integer; next: list; end;
var l: list; s: string; i: integer;
function fib(n: integer): int64; begin if n < 2 then fib := n else fib := fib(n - 1) + fib(n - 2) end;
procedure add(var l: list; v: integer); var n: list; begin new(n); n^.v := v; n^.next := l; l := n end;
begin
  l := nil; s := 'abc';
  for i := 1 to 9 do case i mod 3 of 0: add(l, i); 1: s := s + chr(64 + i) else dec(l^.v) end;
  while l <> nil do begin writeln(l^.v: 5, fib(l^.v)); l := l^.next end
end.
`

	nim = `import std/[tables, strutils]
type Tree = ref object
  left, right: Tree
  v: int
proc insert(t: Tree, v: int): Tree =
  if t == nil: Tree(v: v)
  elif v < t.v: Tree(left: insert(t.left, v), right: t.right, v: t.v)
  else: Tree(left: t.left, right: insert(t.right, v), v: t.v)
var c = initCountTable[string]()
for w in "a b a".split: c.inc w
template twice(x: untyped) = x; x
twice: echo c, insert(nil, 3).v
`

	crystal = `class Tree(T)
  property left : Tree(T)?
  def initialize(@v : T); end
  def each(&block : T ->)
    @left.try &.each(&block)
    yield @v
  end
end
t=Tree.new 3
t.each { |v| puts v>2 ? "a#{v}" : [1,2].map { |x| x*2 } }
case t when Nil then 1 else begin raise "x" rescue 2 end end
`

	sml = `datatype tree = L | N of tree * int * tree;
fun ins (L, v) = N (L, v, L) | ins (N (l, w, r), v) = if v < w then N (ins (l, v), w, r) else N (l, w, ins (r, v));
fun f n = if n < 2 then n else f (n - 1) + f (n - 2);
val t = foldl (fn (v, t) => ins (t, v)) L [3, 1, 2, f 12];
val _ = print (String.concatWith "," (map Int.toString [1, f 9]) ^ "\n") handle Overflow => ();
`

	php = `<?php
function f($n) { return $n < 2 ? $n : f($n - 1) + f($n - 2); }
class T { private $a = []; function __get($k) { return $this->a[$k] ?? strtoupper($k); } function g() { yield from [1, 2, 3]; } }
$t = new T; foreach ($t->g() as $v) echo $v, $t->x, "\n";
echo f(12), preg_replace_callback('/b+/', fn($m) => strlen($m[0]), 'abbbc'), json_encode(array_map(null, [1, 2], ['a', 'b'])), "\n";
usort($l = [3, 1, 2], fn($a, $b) => $a <=> $b); try { throw new Exception('x'); } catch (Exception $e) { echo $e->getTraceAsString(), md5('a'), "\n"; }
`

	pari = `f(n)=if(n<2,n,f(n-1)+f(n-2));
print(f(9)); print(factor(2^67-1)); print(polroots(x^3-2)); print(bestappr(Pi,1000)); print(matdet([1,2;3,4])*1.5);
print(ellinit([0,0,1,-1,0]).disc); print(intnum(t=0,1,exp(t)));
`

	postScript = `/f { dup 2 lt { } { dup 1 sub f exch 2 sub f add } ifelse } def 12 f ==
/d 9 dict def d begin /a [1 2.5 (text) /name] def a { == } forall end
0 1 9 { dup mul sqrt cvs } stopped { clear } if (abc) (b) search { pop pop pop } { pop } ifelse
gsave 10 10 moveto 20 30 40 50 60 70 curveto closepath flattenpath pathbbox grestore 4 { pop } repeat
`
)
