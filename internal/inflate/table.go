package inflate

import "math/bits"

// entry says what the next bits mean:
//
//	bits 0…5    how many bits the code and its extra bits take
//	bit 6       value is yet to get the extra bits
//	bits 8…11   how many bits the code takes; of a link, those of the second index
//	bit 12      end of the block
//	bit 13      link to another table, at value
//	bit 14      either, or what no code means
//	bit 15      literal
//	bits 16…31  value: the literal, length, distance
type entry uint32

const (
	more    entry = 1 << 6
	special entry = 1 << 14
	end     entry = 1<<12 | special
	link    entry = 1<<13 | special
	literal entry = 1 << 15
)

func (e entry) value() uint         { return uint(e >> 16) }
func (e entry) extra(b uint64) uint { return uint(b & (1<<(e&63) - 1) >> (e >> 8 & 15)) }

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
		if n <= first {
			spread(index, code, 0, n, meaning(s))
			continue
		}
		l := &index[code&(1<<first-1)]
		if *l == special {
			*l = link | entry(free<<16|width<<8)
			free += 1 << width
		}
		spread(table[l.value():][:1<<width], code>>first, first, n-first, meaning(s))
	}
	return true
}

// spread enters a symbol wherever the n low bits of the index are its code, or the rest
// of it, from bit skip on. Where the extra bits are in the index too, so is the value.
func spread(index []entry, code, skip, n int, e entry) {
	extra := int(e & 63)
	e += entry(skip + n)
	if 1<<(n+extra) > len(index) {
		e, extra = e|more, 0
	}
	for x := range 1 << extra {
		for i := code | x<<n; i < len(index); i += 1 << (n + extra) {
			index[i] = e + entry(x<<16|(skip+n+extra)<<8)
		}
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
		return literal | entry(s)<<16
	case s == 256:
		return end
	case s < 261:
		return entry(s-254) << 16
	case s < 285:
		return entry(3+(4+(s-1)&3)<<n)<<16 | entry(n)
	case s == 285:
		return longestMatch << 16
	}
	return special
}

// dist is what a distance symbol means, without its code (3.2.5).
func dist(s int) entry {
	switch n := s/2 - 1; { // extra bits
	case s < 4:
		return entry(s+1) << 16
	case s < maxDist:
		return entry(1+(2+s&1)<<n)<<16 | entry(n)
	}
	return special
}
