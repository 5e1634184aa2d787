// Package typeset has what all forms of reports share: how text from captures is made harmless, colours, names of frames and places,
// the frame of a web page, what marks mean, and instructions in words.
package typeset

import (
	"unicode/utf8"

	"github.com/backsight/backsight/internal/visible"
)

const hexDigits = "0123456789abcdef"

// AppendText appends s as people may read it: \x1b and \u202e for what is risky,
// \xff for bytes that are not UTF-8.
func AppendText(dst []byte, s string) []byte {
	n := printable(s)
	dst = append(dst, s[:n]...)
	for i := n; i < len(s); {
		if c := s[i]; c >= 0x20 && c < 0x7f {
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n <= 1 || r < 0x80:
			dst = append(dst, '\\', 'x', hexDigits[s[i]>>4], hexDigits[s[i]&15])
		case visible.Risky(r):
			dst = visible.AppendRune(dst, r)
		default:
			dst = append(dst, s[i:i+n]...)
		}
		i += n
	}
	return dst
}

// Text makes s harmless on a terminal, in one line.
func Text(s string) string {
	if printable(s) == len(s) {
		return s
	}
	return string(AppendText(nil, s))
}

// printable is how many characters of s, from the first on, are printable ones of ASCII. Eight at a time: a byte below
// 0x20 borrows, one above 0x7e carries into its highest bit or has that set.
func printable(s string) int {
	const each, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; len(s)-i >= 8; i += 8 {
		b := s[i : i+8]
		v := uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
			uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
		if ((v-0x20*each)|v|(v+each))&high != 0 {
			break
		}
	}
	for i < len(s) && s[i]-0x20 < 0x7f-0x20 {
		i++
	}
	return i
}

// AppendString appends s as a JSON string (RFC 8259 §7). Bytes that are not UTF-8
// become U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := 0; i < len(s); {
		c := s[i]
		if c >= 0x20 && c < 0x7f && c != '"' && c != '\\' {
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case visible.Risky(r):
			dst = visible.AppendRune(dst, r)
		default:
			dst = utf8.AppendRune(dst, r) // U+FFFD for a broken byte
		}
		i += n
	}
	return append(dst, '"')
}

// AppendHex appends v as 0x and at least width digits.
func AppendHex(dst []byte, v uint64, width int) []byte {
	dst = append(dst, '0', 'x')
	for width < 16 && v>>(4*width) != 0 {
		width++
	}
	for i := max(width, 1) - 1; i >= 0; i-- {
		dst = append(dst, hexDigits[v>>(4*i)&15])
	}
	return dst
}
