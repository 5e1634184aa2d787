package kernellog

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/phrases"
)

// cutWord takes what stands before the first space off.
func cutWord(s string) (word, rest string) {
	word, rest, _ = strings.Cut(s, " ")
	return word, strings.TrimLeft(rest, " ")
}

// cutLast cuts s at its last sep.
func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func hexOf(v uint64) string { return strconv.FormatUint(v, 16) }

// digitsOf is the number of hexadecimal digits that s is; 0 where it is something else.
func digitsOf(s string) int {
	for i := range len(s) {
		if !phrases.IsHex(s[i]) {
			return 0
		}
	}
	return len(s)
}

// isDecimal tells whether all words are decimal numbers.
func isDecimal(words []string) bool {
	for _, w := range words {
		if strings.Trim(w, "0123456789") != "" {
			return false
		}
	}
	return true
}

// isSymbol tells whether s may be a symbol: C's, a compiler's (foo.constprop.0), Rust's.
func isSymbol(s string) bool {
	for i := range len(s) {
		c := s[i]
		if phrases.IsWord(c) || strings.IndexByte(".$@", c) >= 0 {
			continue
		}
		return false
	}
	return s != "" && (s[0] < '0' || s[0] > '9')
}

// cutModule takes [crashy] off, or "[crashy 1234…]" with a build ID, or OpenWrt's "[crashy@3e6ee6ae+0x96e0]" with where
// the module lies, a number that its kernels since Linux 4.15 put in the place of the address.
func cutModule(s string) (name, rest string) {
	inner, after, ok := strings.Cut(s, "]")
	if !ok || !strings.HasPrefix(inner, "[") || strings.HasPrefix(inner, "[<") {
		return "", s
	}
	name, _, _ = strings.Cut(inner[1:], " ")
	name, _, _ = strings.Cut(name, "@")
	return name, strings.TrimLeft(after, " ")
}
