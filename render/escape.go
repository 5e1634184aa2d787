package render

import (
	"unicode/utf8"

	"github.com/backsight/backsight/internal/visible"
)

const hexDigits = "0123456789abcdef"

// appendText appends s as people may read it: \x1b and \u202e for what is risky,
// \xff for bytes that are not UTF-8.
func appendText(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
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
func Text(s string) string { return string(appendText(nil, s)) }

// appendString appends s as a JSON string (RFC 8259 §7). Bytes that are not UTF-8
// become U+FFFD.
func appendString(dst []byte, s string) []byte {
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

// appendHex appends v as 0x and at least width digits.
func appendHex(dst []byte, v uint64, width int) []byte {
	dst = append(dst, '0', 'x')
	for width < 16 && v>>(4*width) != 0 {
		width++
	}
	for i := max(width, 1) - 1; i >= 0; i-- {
		dst = append(dst, hexDigits[v>>(4*i)&15])
	}
	return dst
}
