package inflate

import "math/bits"

// entry says what the next bits mean:
//
//	bits 0…5    how many bits a literal takes; 0 of what is none
//	bit 6       literal
//	bit 7       the end of the block, a link to another table, or what no code means
//	bits 8…11   how many bits the code takes; of a link, those of the second index
//	bits 12…26  value: the literal, length, distance; of a link, where its table is
//	bits 27…31  how many bits the code and its extra bits take; 0 of literals and links
type entry uint32

const (
	literal entry = 1 << 6
	special entry = 1 << 7
	end     entry = 1<<12 | special
)

func (e entry) byte() byte          { return byte(e >> 12) }
func (e entry) literals() uint      { return uint(e >> 6 & 1) }
func (e entry) size() uint          { return uint(e >> 27) }
func (e entry) value() uint         { return uint(e >> 12 & (1<<15 - 1)) }
func (e entry) extra(b uint64) uint { return uint(b & (1<<e.size() - 1) >> (e >> 8 & 15)) }
func (e entry) link() bool          { return e.size() == 0 && e>>8&15 != 0 }

// second is the index of a link's table, from the bits behind the first index.
func (e entry) second(b uint64) uint { return e.value() + uint(b&(1<<(e>>8&15)-1)) }

// The next so many bits are the index in a table. Codes that are longer have tables of
// their own, one for each beginning, for all bits that may follow; as two codes at
// least begin in the same way, there are half as many of these as symbols at most.
const (
	litLenBits     = 11
	distBits       = 9
	codeLengthBits = 7
	longestCode    = 15 // RFC 1951 §3.2.7
)

type (
	litLenTable [1<<litLenBits + maxLitLen/2<<(longestCode-litLenBits)]entry
	distTable   [1<<distBits + maxDist/2<<(longestCode-distBits)]entry
)

// build fills a table for the codes of the given lengths (3.2.2), with what symbols mean.
// It reports false where the codes do not use up all bits; but there may be none, or one of
// one bit (3.2.7).
func build(table []entry, first int, lengths []uint8, meaning func(int) entry) bool {
	var count [longestCode + 1]int
	longest := 0
	for _, n := range lengths {
		count[n]++
		longest = max(longest, int(n))
	}
	var next [longestCode + 2]int // code of each length
	for n := 1; n <= longestCode; n++ {
		next[n+1] = (next[n] + count[n]) << 1
	}
	if longest > 1 && next[longest+1] != 2<<longest || count[1] > 2 {
		return false
	}
	index := table[:1<<first]
	for i := range index {
		index[i] = special
	}
	free, width := 1<<first, longest-first
	for s, n := range lengths {
		if n == 0 {
			continue
		}
		n := int(n)
		code := int(bits.Reverse16(uint16(next[n])) >> (16 - n)) // the first bit is the lowest (3.1.1)
		next[n]++
		e := meaning(s).coded(n)
		if n <= first {
			spread(index, code, n, e)
			continue
		}
		l := &index[code&(1<<first-1)]
		if *l == special {
			*l |= entry(free<<12 | width<<8)
			free += 1 << width
		}
		spread(table[l.value():][:1<<width], code>>first, n-first, e)
	}
	return true
}

// spread enters a symbol wherever the n low bits of the index are its code.
func spread(index []entry, code, n int, e entry) {
	for i := code; i < len(index); i += 1 << n {
		index[i] = e
	}
}

// Sizes of the alphabets without symbols that never occur (3.2.5, 3.2.6).
const (
	maxLitLen    = 286
	maxDist      = 30
	longestMatch = 258
)

// litLen is what a literal or length symbol means, without its code (3.2.5).
func litLen(s int) entry {
	switch n := max(0, s-261) / 4; { // extra bits
	case s < 256:
		return symbol(s, 0) | literal
	case s == 256:
		return end
	case s < 261:
		return symbol(s-254, 0)
	case s < 285:
		return symbol(3+(4+(s-1)&3)<<n, n)
	case s == 285:
		return symbol(longestMatch, 0)
	}
	return special
}

// dist is what a distance symbol means, without its code (3.2.5).
func dist(s int) entry {
	switch n := s/2 - 1; { // extra bits
	case s < 4:
		return symbol(s+1, 0)
	case s < maxDist:
		return symbol(1+(2+s&1)<<n, n)
	}
	return special
}

// symbol is a value, and how many extra bits it gets.
func symbol(value, extra int) entry { return entry(value<<12 | extra<<27) }

// coded is a symbol whose code takes n bits.
func (e entry) coded(n int) entry {
	if e&literal != 0 {
		return e | entry(n)
	}
	return e + entry(n<<27|n<<8)
}
