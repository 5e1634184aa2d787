package console

import "strings"

// unquoted is a line without what mail puts before the lines that it answers to, and pages of the web into text:
//
//	> > Call Trace:                                  &gt;  [&lt;ffffffff8103f131&gt;] warn_slowpath_common+0x61/0x80
//
// No kernel's message begins with ">".
func unquoted(line string) string {
	if strings.IndexByte(line, '&') >= 0 {
		for _, e := range [...]struct{ entity, char string }{{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", `"`}, {"&#39;", "'"}, {"&nbsp;", " "}, {"&amp;", "&"}} {
			line = strings.ReplaceAll(line, e.entity, e.char)
		}
	}
	for {
		rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), ">")
		if !ok {
			return line
		}
		line = rest
	}
}
