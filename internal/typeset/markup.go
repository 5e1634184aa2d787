package typeset

import (
	"strings"
	"unicode/utf8"
)

// Markup is HTML that the program itself says. A constant is markup as it stands; a string, and
// all that comes from a capture is one, is not: the compiler refuses it, and it gets onto the
// page through a hole only, escaped.
type Markup string

// AppendMarkup appends m, with the values in its holes {}, in turn. A hole stands for text
// between tags, or for the whole value of an attribute, or a part of it, between double quotes:
// an escaped value can end neither. None stands in a script, a style, or an address.
func AppendMarkup(dst []byte, m Markup, values ...string) []byte {
	rest := string(m)
	for _, v := range values {
		before, after, _ := strings.Cut(rest, "{}")
		dst = appendEscaped(append(dst, before...), v)
		rest = after
	}
	return append(dst, rest...)
}

// appendEscaped appends a value so that it is text: as html.EscapeString, which would have every
// run of the program build a table. What is risky is written out, but for ends of lines and tabs.
func appendEscaped(dst []byte, value string) []byte {
	for i := 0; i < len(value); {
		r, n := utf8.DecodeRuneInString(value[i:])
		switch {
		case r == '&':
			dst = append(dst, "&amp;"...)
		case r == '<':
			dst = append(dst, "&lt;"...)
		case r == '>':
			dst = append(dst, "&gt;"...)
		case r == '"':
			dst = append(dst, "&#34;"...)
		case r == '\'':
			dst = append(dst, "&#39;"...)
		case r == '\n' || r == '\t':
			dst = append(dst, value[i])
		default:
			dst = AppendText(dst, value[i:i+n])
		}
		i += n
	}
	return dst
}

// AppendDetails begins a part of the page that unfolds, at once where open.
func AppendDetails(dst []byte, class string, open bool) []byte {
	dst = AppendMarkup(dst, `<details class="{}"`, class)
	if open {
		dst = AppendMarkup(dst, " open")
	}
	return AppendMarkup(dst, ">")
}

// AppendMarked begins an element, of a class where marked.
func AppendMarked(dst []byte, element, class Markup, marked bool) []byte {
	dst = AppendMarkup(dst, "<"+element)
	if marked {
		dst = AppendMarkup(dst, ` class="`+class+`"`)
	}
	return AppendMarkup(dst, ">")
}
