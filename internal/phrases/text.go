package phrases

import (
	"slices"
	"strconv"
	"strings"
)

// Begins tells whether a text begins with one of prefixes.
func Begins(text string, prefixes ...string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(text, p) })
}

// IsDigit tells whether decimal numbers have a byte, IsHex hexadecimal ones, IsWord names of registers and variables.
func IsDigit(c byte) bool { return c-'0' <= 9 }

func IsHex(c byte) bool { return c-'0' <= 9 || c|0x20-'a' < 6 }

func IsWord(c byte) bool { return isAlphanumeric(c) || c == '_' }

// isAlphanumeric tells whether a byte is a letter or a digit.
func isAlphanumeric(c byte) bool { return c|0x20-'a' < 26 || c-'0' <= 9 }

// Leading is the decimal number of up to 31 bits at the beginning of a text, none where there is none.
func Leading(text string, none int) int {
	end := 0
	for end < len(text) && IsDigit(text[end]) {
		end++
	}
	if n, err := strconv.ParseUint(text[:end], 10, 31); err == nil {
		return int(n)
	}
	return none
}

// Hex reads a hexadecimal number, with or without 0x.
func Hex(text string) (uint64, bool) {
	if len(text) > 1 && text[0] == '0' && text[1]|0x20 == 'x' {
		text = text[2:]
	}
	v, err := strconv.ParseUint(text, 16, 64)
	return v, err == nil
}
