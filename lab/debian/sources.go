package debian

import "strings"

// sources are the files that compilers and formatters read, by name.
func sources() map[string]string {
	return map[string]string{
		"script.js": strings.Repeat(script, 4), "script.ts": script + typed, "script.res": rescript, "style.css": strings.Repeat(css, 8), "style.scss": scss,
		"data.json": `{"a":[1,2.5,{"b":"text","c":[true,null]},` + strings.Repeat(`{"k":["v",1e9]},`, 60) + `0]}`,
		"Packages":  strings.Repeat(packages, 3), "Main.elm": elm, "script.sh": korn + "\n" + ash, "header.h": header, "program.c": header + program,
		"script.tcl": tcl, "page.typ": typst, "schema.proto": proto, "program.go": golang, "program.zig": zig, "program.cc": cplusplus,
		"formula.smt2": formula, "program.pas": pascal, "program.nim": nim, "program.cr": crystal, "program.sml": sml, "script.php": php, "script.gp": pari,
		"script.ps": postScript,
	}
}

const (
	script = `class Node { constructor(l, v) { this.left = l; this.value = v } get depth() { return this.left ? this.left.depth + 1 : 0 } }
function fold(xs, f, z) { for (const x of xs) { if (x > 3 && x !== 9) z = f(z, x); else z ??= f(x, z) } return z }
const made = [1, 2, 3, 4, 5].map(v => ({ ...new Node(null, v), name: ` + "`n${v * 2}`" + ` })).filter(({ value }) => value % 2);
async function* later() { try { yield await fold(made, (a, b) => a?.value + b, 0) } catch (e) { console.log(/a+(b|c)*/g.test(e)) } }
switch (made.length) { case 1: debugger; default: for (let i = 0, j = 9; i < j; i++, j--) if (i == j) continue; else break }
`

	typed = `interface Shape<T extends number> { kind: "a" | "b"; size: T }
type Sizes = { [K in keyof Shape<3>]: Shape<3>[K] };
const shapes: Shape<3>[] = [{ kind: "a", size: 3 }, { kind: "b", size: 3 }];
function total(all: Shape<3>[]): number { return all.reduce((n, s) => n + s.size, 0) }
`

	rescript = `type rec tree = Leaf | Node(tree, int, tree)
let rec insert = (t, v) =>
  switch t {
  | Leaf => Node(Leaf, v, Leaf)
  | Node(l, w, r) if v < w => Node(insert(l, v), w, r)
  | Node(l, w, r) => Node(l, w, insert(r, v))
  }
let sum = [1, 2, 3]->Array.reduce(0, (a, b) => a + b)
let text = ` + "`t${Int.toString(sum)}`" + `
module M = { let x = () => insert(Leaf, 3) }
`

	css = `@media (min-width: 640px) { .a > .b:hover::before { color: rgba(255, 0, 0, .5); margin: 0px 1px 0px 1px; transition: all 1s ease } }
@supports (display: grid) { .grid { display: grid; grid-template: "a b" 1fr / auto; background: url(x.png) no-repeat, linear-gradient(red, blue) } }
:root { --x: calc(1px + 2 * 3em) } .c:not(.d, #e) { width: calc(100% - var(--x)); font: italic bold 12px/30px Georgia, serif }
`

	scss = `@use "sass:math"; $sizes: (small: 1px, large: 3px);
@mixin box($n, $rest...) { width: math.div($n * 10px, 3); @content; }
@function twice($x) { @if $x > 9 { @return $x; } @return twice($x * 2); }
%base { color: mix(red, blue, 30%); }
@each $name, $size in $sizes { .#{$name} { @extend %base; @include box(twice(2), 1, 2) { &:hover { margin: $size; } } } }
@for $i from 1 through 9 { .n-#{$i} { height: $i * 1em; content: str-index("abcdef", "d") + "#{$i}"; } }
`

	packages = `Package: a
Version: 1.0-1
Architecture: amd64
Depends: b (>= 2.0), c | d

Package: b
Version: 2.1
Architecture: amd64
Conflicts: c

Package: d
Version: 1:3
Architecture: all
Depends: e (<< 1)

`

	elm = `module Main exposing (main)


type Tree a
    = Leaf
    | Node (Tree a) a (Tree a)


insert : comparable -> Tree comparable -> Tree comparable
insert v t =
    case t of
        Leaf ->
            Node Leaf v Leaf

        Node l w r ->
            if v < w then
                Node (insert v l) w r

            else
                Node l w (insert v r)


main =
    List.foldl insert Leaf [ 3, 1, 2 ]
`

	header = `enum colour { red = 1, green, blue };
struct point { int x, y; struct point *next; };
typedef struct point *list;
#define LIMIT 42
typedef int (*visit)(list, enum colour, const char *);
extern int walk(list l, visit f, unsigned long n);
`

	program = `static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
int walk(list l, visit f, unsigned long n) {
	int s = 0;
	for (; l && n--; l = l->next) { switch (l->x % 3) { case 0: s += f(l, red, "x"); break; case 1: s ^= l->y << 2; default: s--; } }
	return s + fib(LIMIT);
}
`

	tcl = `proc f n { if {$n < 2} { return $n }; return [expr {[f [expr {$n - 1}]] + [f [expr {$n - 2}]]}] }
puts [f 12]; set d [dict create a 1 b 2]; foreach {k v} $d { lappend l [string repeat $k $v] }; puts [lsort -decreasing $l]
puts [regsub -all {(\w)b} "abcb abb" {<\1>}]; catch { error x } e; puts [format %05d [string length $e]]
`
)
