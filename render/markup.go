package render

import (
	"html"
	"strings"
)

// markup is HTML that the program itself says. A constant is markup as it stands; a string, and
// all that comes from a capture is one, is not: the compiler refuses it, and it gets onto the
// page through a hole only, escaped.
type markup string

// appendMarkup appends m, with the values in its holes {}, in turn. A hole stands for text
// between tags, or for the whole value of an attribute, or a part of it, between double quotes:
// an escaped value can end neither. None stands in a script, a style, or an address.
func appendMarkup(dst []byte, m markup, values ...string) []byte {
	rest := string(m)
	for _, v := range values {
		before, after, _ := strings.Cut(rest, "{}")
		dst = append(append(dst, before...), html.EscapeString(v)...)
		rest = after
	}
	return append(dst, rest...)
}
