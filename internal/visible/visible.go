// Package visible tells characters that are more than text, in names that come from captures and binaries.
package visible

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Risky tells whether a terminal or an editor may take r for more than a
// character: C0 and C1 controls (escape sequences), and the format characters of
// Unicode, which reorder (bidi controls, "Trojan Source") or hide text.
func Risky(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r > 0xff && (unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029)
}

const hexDigits = "0123456789abcdef"

// AppendRune appends \uXXXX, as a surrogate pair where that is needed: a character in a JSON string (RFC 8259 §7).
func AppendRune(dst []byte, r rune) []byte {
	if r > 0xffff {
		r -= 0x10000
		dst = AppendRune(dst, 0xd800+r>>10)
		r = 0xdc00 + r&0x3ff
	}
	return append(dst, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
}

// JSON is a JSON text with what is risky in its strings escaped. Controls below U+0020 are either escaped in it already
// or white space between its tokens.
func JSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, n := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRune(text[i:])
		}
		if r >= 0x20 && Risky(r) {
			out = AppendRune(out, r)
		} else {
			out = append(out, text[i:i+n]...)
		}
		i += n
	}
	return out
}

// Line is a name with ? for each risky character, for forms of one record a line.
func Line(name string) string {
	return strings.Map(func(r rune) rune {
		if Risky(r) {
			return '?'
		}
		return r
	}, name)
}
