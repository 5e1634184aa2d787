package kernellog

import (
	"strings"

	"github.com/backsight/backsight/target"
)

// Scripts put places in the source into reports: scripts/decode_stacktrace.sh of Linux in parentheses, in front of the
// module and, before Linux 6.16, instead of the offset; syzkaller behind the entry, with lines of their own for
// functions that were inlined in the next entry's:
//
//	toy_read (fs/toy.c:12 (discriminator 3) include/linux/toy.h:7) crashy
//	__dump_stack lib/dump_stack.c:88 [inline]
//	dump_stack_lvl+0x107/0x163 lib/dump_stack.c:120

// inlinedIn reads the line of an inlined function.
func inlinedIn(text string) (p target.Place, ok bool) {
	text, ok = strings.CutSuffix(text, " [inline]")
	if !ok {
		return p, false
	}
	name, at := cutWord(strings.TrimPrefix(text, "? "))
	src, rest, ok := cutSource(at)
	return target.Place{Function: name, File: src.File, Line: src.Line}, ok && rest == "" && isSymbol(name)
}

// cutSource takes a place in the source off, in parentheses or not. Of those of inlined functions, of which
// decode_stacktrace.sh does not tell the names, the last is the entry's own.
func cutSource(s string) (src target.Source, rest string, ok bool) {
	inner, closed := strings.CutPrefix(s, "(")
	if !closed {
		word, rest := cutWord(s)
		src, ok = sourceOf(word)
		return src, rest, ok
	}
	end := closing(inner)
	if end < 0 {
		return src, s, false
	}
	for _, word := range strings.Fields(inner[:end]) {
		if at, is := sourceOf(word); is {
			src, ok = at, true
		}
	}
	return src, strings.TrimLeft(inner[end+1:], " "), ok
}

// closing is the index of the parenthesis that closes the one before s, -1 for none.
func closing(s string) int {
	depth := 1
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// sourceOf reads "lib/dump_stack.c:88".
func sourceOf(word string) (src target.Source, ok bool) {
	file, number, ok := cutLast(word, ':')
	n := leadingNumber(number, -1)
	ok = ok && n >= 0 && len(number) <= len("1234567") && strings.Trim(number, "0123456789") == "" && strings.Contains(file, ".") && !strings.ContainsAny(file, "[]<>+")
	return target.Source{File: file, Line: max(n, 0)}, ok
}

// anyPlace is parsePlace, or decodedPlace.
func anyPlace(s string) (p place, rest string, ok bool) {
	if p, rest, ok = parsePlace(s); ok && (p.symbol != "" || rest == "") {
		return p, rest, ok
	}
	if d, after, is := decodedPlace(s); is {
		if _, _, is = cutSource(after); is {
			return d, after, true
		}
	}
	return p, rest, ok
}

// decodedPlace reads an entry that has a place in the source instead of an offset.
func decodedPlace(s string) (p place, rest string, ok bool) {
	_, s, _ = cutBracketed(s)
	name, rest, ok := strings.Cut(s, " ")
	ok = ok && strings.HasPrefix(rest, "(") && isSymbol(name)
	return place{symbol: name}, rest, ok
}

// cutDecoded takes off what such a script put behind the place of an entry, and the module where it stands behind.
func (p *place) cutDecoded(rest string) (src target.Source, after string) {
	src, after, ok := cutSource(rest)
	if !ok {
		return target.Source{}, rest
	}
	if module, behind := cutWord(after); p.module == "" && module != "" && !strings.HasPrefix(module, "(") {
		if name, more := cutModule(after); name != "" {
			module, behind = name, more
		}
		if isSymbol(module) {
			p.module, after = module, behind
		}
	}
	return src, after
}
