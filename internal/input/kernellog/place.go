package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
	"github.com/backsight/backsight/target"
)

// place is a place in code as kernels print it: [<c00a5020>] leaf_deref+0x20/0x2c [crashy].
type place struct {
	addr    uint64
	hasAddr bool
	// symbol, module, offset and size are those of target.Listed.
	symbol, module string
	offset, size   uint64
	source         target.Source // as a tool has put it in
}

// parsePlace reads the place at the start of s: an address, a symbol, or both. rest is what
// follows.
func parsePlace(s string) (p place, rest string, ok bool) {
	if p.addr, s, p.hasAddr = cutBracketed(s); p.hasAddr && p.addr == 0 {
		p.hasAddr = false // [<0>]: addresses are hidden from users (kernel.kptr_restrict)
		ok = true
	}
	word, after := cutWord(s)
	module := ""
	if strings.HasPrefix(word, "(") { // ARM before Linux 5.14: [<c0012345>] (foo+0x10/0x20 [toy])
		word, after, _ = strings.Cut(s[1:], ")")
		word, module = cutWord(word)
		after = strings.TrimLeft(after, " ")
	}
	braced := strings.HasPrefix(word, "{") && strings.HasSuffix(word, "}")
	if braced {
		word = word[1 : len(word)-1]
	}
	if name, symbol, is := strings.Cut(strings.TrimPrefix(word, ":"), ":"); is && word[0] == ':' { // x86-64 before Linux 2.6.25: :toy:foo+0x10/0x20
		word, module = symbol, "["+name+"]"
	}
	if !p.setSymbol(word) && !(braced && p.setDecimal(word)) {
		if source, module, behind, ok := cutSource(after); ok && strings.HasPrefix(after, "(") && isSymbol(word) {
			if p.symbol, p.module, p.source = word, module, source; module == "" {
				p.module, behind = cutModule(behind)
			}
			return p, behind, true
		}
		switch v, is := phrases.Hex(word); {
		case p.hasAddr && is && strings.HasPrefix(word, "0x"):
			p.module, after = cutModule(after)
			return p, after, true
		case p.hasAddr || ok:
			return p, s, p.hasAddr
		case is && strings.HasPrefix(word, "0x"):
			p.addr, p.hasAddr = v, true
			p.module, after = cutModule(after)
			return p, after, true
		}
		return p, s, false
	}
	if p.module, _ = cutModule(module); p.module == "" {
		p.module, after = cutModule(after)
	}
	p.source, _, _, _ = cutSource(after)
	return p, after, true
}

// setSymbol reads symbol+0x20/0x2c.
func (p *place) setSymbol(word string) bool {
	name, tail, ok := strings.Cut(word, "+0x")
	if !ok || name == "" || !isSymbol(name) {
		return false
	}
	off, size, _ := strings.Cut(tail, "/0x")
	offset, err := strconv.ParseUint(off, 16, 64)
	if err != nil {
		return false
	}
	p.symbol, p.offset = name, offset
	p.size, _ = strconv.ParseUint(size, 16, 64)
	return true
}

// setDecimal reads foo+32, as x86-64 prints symbols before Linux 2.6.18: <ffffffff80214c5b>{:toy:foo+32}.
func (p *place) setDecimal(word string) bool {
	name, offset, ok := strings.Cut(word, "+")
	n := phrases.Leading(offset, -1)
	if !ok || !isSymbol(name) || n < 0 {
		return false
	}
	p.symbol, p.offset = name, uint64(n)
	return true
}

// cutNextEntry cuts rest, what follows an entry, where another entry follows, as kernels for x86 before Linux 2.6.18 print them:
//
//	<c020bb5d> toy_event+0x10d/0x210   <c020ba50> toy_add+0x20/0x40
//	<ffffffff8026a5c4>{toy_probe+68} <ffffffff8026a6e6>{toy_attach+70}
func cutNextEntry(rest string) (own, next string) {
	if _, _, ok := cutBracketed(rest); ok {
		return "", rest
	}
	return rest, ""
}

// cutBracketed takes [<c00a5020>] off, or [<ffffffff8114f3a0>]; or <c00a5020>, of x86 before Linux 2.6.18.
func cutBracketed(s string) (addr uint64, rest string, ok bool) {
	if s == "" || s[0] != '<' && s[0] != '[' {
		return 0, s, false
	}
	if inner, after, ok := strings.Cut(strings.TrimPrefix(s, "<"), ">"); ok && s[0] == '<' && (digitsOf(inner) == 8 || digitsOf(inner) == 16) {
		addr, _ = phrases.Hex(inner)
		if strings.HasPrefix(after, "{") || strings.HasPrefix(after, " ") {
			return addr, strings.TrimLeft(after, " "), true
		}
	}
	inner, after, ok := strings.Cut(s, ">]")
	if !ok || !strings.HasPrefix(inner, "[<") {
		return 0, s, false
	}
	addr, ok = phrases.Hex(inner[2:])
	if !ok {
		return 0, s, false
	}
	return addr, strings.TrimLeft(after, " "), true
}

// listed is the place as a frame of a call chain.
func (p *place) listed() target.Listed {
	l := target.Listed{Symbol: p.symbol, Module: p.module, Offset: p.offset, Size: p.size, Source: p.source}
	if p.hasAddr {
		l.PC = p.addr
	}
	return l
}

// contradicts tells whether two places are named and are not the same.
func (p *place) contradicts(o *place) bool {
	return p.symbol != "" && o.symbol != "" && (p.symbol != o.symbol || p.offset != o.offset)
}

// function is the name of the function that the compiler may have split: foo of
// foo.cold and foo.part.0.
func (p *place) function() string {
	name, _, _ := strings.Cut(p.symbol, ".")
	return name
}

// isImpossible tells whether a place lies beyond its own function, or between instructions.
func (p *place) isImpossible(align uint64) bool {
	return p.symbol != "" && p.size != 0 && (p.offset > p.size || align > 1 && p.offset%align != 0)
}

// placeOf is the place of an entry of a chain.
func placeOf(l *target.Listed) place {
	return place{symbol: l.Symbol, module: l.Module, offset: l.Offset, size: l.Size}
}

// samePlace tells whether an entry of a chain is the place p.
func samePlace(l *target.Listed, p *place) bool {
	return l.Symbol == p.symbol && l.Offset == p.offset && l.Module == p.module && p.symbol != ""
}

// sameEntry tells whether two entries are one place.
func sameEntry(a, b *target.Listed) bool {
	return a.Symbol == b.Symbol && a.Module == b.Module && a.Offset == b.Offset && a.PC == b.PC
}

// completes tells whether p is a place in the function that an entry of a chain names alone, and makes the entry that place.
func completes(p *place, l *target.Listed) bool {
	if l.PC != 0 || l.Entry == 0 || l.Symbol != p.symbol || l.Module != p.module {
		return false
	}
	l.PC, l.Offset, l.Size = l.Entry+p.offset, p.offset, p.size
	return true
}
