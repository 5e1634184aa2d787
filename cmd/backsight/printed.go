//go:build !small

package main

import (
	"iter"
	"strings"
)

// printed is a place as kernels and devices print places: vfs_write+0xc8/0x1e0, 0x42006e56, ffffffc008123456.
type printed struct {
	text     string
	function string // "": text is an address
	offset   uint64
}

// printedIn are the places in a line.
func printedIn(line string) iter.Seq[printed] {
	return func(yield func(printed) bool) {
		for i := 0; i < len(line); {
			n := nameLen(line[i:])
			if n == 0 {
				i++
				continue
			}
			p, behind := inFunction(line[i:], n)
			if behind == 0 && !eachAddress(line[i:i+n], yield) || behind > 0 && !yield(p) {
				return
			}
			i += n + behind
		}
	}
}

// nameLen is how long the name is that s begins with: letters, digits, what compilers add.
func nameLen(s string) int {
	for i := range len(s) {
		if c := s[i] | 0x20; (c < 'a' || c > 'z') && (s[i] < '0' || s[i] > '9') && s[i] != '_' && s[i] != '.' && s[i] != '$' {
			return i
		}
	}
	return len(s)
}

// inFunction is the place that s begins with, where an offset and a size follow the name of n bytes, and how long these are.
func inFunction(s string, n int) (p printed, behind int) {
	rest, plus := strings.CutPrefix(s[n:], "+0x")
	offset := digits(rest)
	if !plus || offset == 0 || !strings.HasPrefix(rest[offset:], "/0x") {
		return p, 0
	}
	size := digits(rest[offset+3:])
	p.function = strings.TrimLeft(s[:n], "0123456789")
	if size == 0 || p.function == "" {
		return p, 0
	}
	p.offset, _ = hexNumber(rest[:offset])
	behind = 6 + offset + size
	p.text = s[n-len(p.function) : n+behind]
	return p, behind
}

// digits is how many hexadecimal digits s begins with, in lower case.
func digits(s string) int {
	for i := range len(s) {
		if (s[i] < '0' || s[i] > '9') && (s[i] < 'a' || s[i] > 'f') {
			return i
		}
	}
	return len(s)
}

// eachAddress yields the parts of a name that are addresses.
func eachAddress(name string, yield func(printed) bool) bool {
	for more := len(name) >= 6; more; {
		var part string
		if i := strings.IndexAny(name, ".$"); i >= 0 {
			part, name = name[:i], name[i+1:]
		} else {
			part, more = name, false
		}
		if isAddress(part) && !yield(printed{text: part}) {
			return false
		}
	}
	return true
}

// isAddress tells whether a word is 4 to 16 digits behind 0x, or all digits of an address of 32 or 64 bits.
func isAddress(word string) bool {
	if rest, prefixed := strings.CutPrefix(word, "0x"); prefixed {
		return len(rest) >= 4 && len(rest) <= 16 && digits(strings.ToLower(rest)) == len(rest)
	}
	return (len(word) == 8 || len(word) == 16) && digits(word) == len(word)
}
