package console

import (
	"strings"
)

// ofPage is a line without what mail and pages put into it:
//
//	> > text           mail that quotes, a mark for each answer; some use |
//	[&lt;c0012345&gt;]        HTML's entities
//	text<br>           HTML's end of a line
//	dump\_backtrace    Markdown's escapes: no message of a kernel has a backslash before such a character
//	`text              and its marks of code
//	pgdp=3D0000=20     mail as it is sent (RFC 2045, 6.7), whose digits are capitals, which the kernel's are not
//
// A space that does not break lines, which pages have for spaces in a row, is a space.
func ofPage(line string) string {
	line = cutQuote(line)
	if code := strings.TrimLeft(line, " \t"); strings.HasPrefix(code, "`") {
		line = strings.TrimLeft(code, "`")
	}
	if strings.IndexByte(line, '&') >= 0 {
		for _, entity := range [...]struct{ name, is string }{{"&lt;", "<"}, {"&gt;", ">"}, {"&nbsp;", " "}, {"&quot;", `"`}, {"&#39;", "'"}, {"&amp;", "&"}} {
			line = strings.ReplaceAll(line, entity.name, entity.is)
		}
		line = cutQuote(line)
	}
	if strings.HasSuffix(line, ">") {
		line = strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(line, "<br />"), "<br/>"), "<br>"), " ")
	}
	if strings.IndexByte(line, '\\') >= 0 {
		line = unescaped(line)
	}
	if strings.IndexByte(line, '=') >= 0 {
		line = strings.ReplaceAll(strings.TrimSuffix(strings.ReplaceAll(line, "=09", "\t"), "=20"), "=3D", "=")
	}
	return strings.ReplaceAll(line, "\u00a0", " ")
}

// cutQuote takes the marks of quoted mail off.
func cutQuote(s string) string {
	for {
		rest := strings.TrimLeft(s, " \t")
		if rest == "" || rest[0] != '>' && rest[0] != '|' {
			return s
		}
		s = rest[1:]
	}
}

// escapable are the bytes in front of which Markdown puts backslashes.
const escapable = "_*[]<>#()+-.!~|`"

// unescaped leaves Markdown's backslashes out.
func unescaped(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] != '\\' || i+1 == len(s) || strings.IndexByte(escapable, s[i+1]) < 0 {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
