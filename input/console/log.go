package console

import (
	"bytes"
	"strings"
)

// maxLine bounds a line in bytes: what is longer is cut into several.
const maxLine = 4096

// Log is a text as lines. Lines are views of the text until they are asked for.
type Log struct {
	text   []byte
	starts []int // of each line; grows with the text
	memo   map[any]any
}

// Memo returns what make returned when key was first asked for: what a Reader finds out of
// the whole log, once.
func (l *Log) Memo(key any, make func() any) any {
	v, ok := l.memo[key]
	if !ok {
		v = make()
		if l.memo == nil {
			l.memo = map[any]any{}
		}
		l.memo[key] = v
	}
	return v
}

// NewLog cuts text into lines, which end in LF, CR or both. NULs count as nothing.
func NewLog(text []byte) *Log {
	l := &Log{text: text}
	for at := 0; at < len(text); {
		l.starts = append(l.starts, at)
		n := bytes.IndexAny(text[at:min(len(text), at+maxLine)], "\r\n")
		switch {
		case n < 0:
			at = min(len(text), at+maxLine)
		case text[at+n] == '\r' && at+n+1 < len(text) && text[at+n+1] == '\n':
			at += n + 2
		default:
			at += n + 1
		}
	}
	return l
}

// Len is the number of lines.
func (l *Log) Len() int { return len(l.starts) }

// Line returns line i, counted from 0, without its end, escape sequences of terminals
// (ECMA-48, 5.4) and NULs; "" behind the last line.
func (l *Log) Line(i int) string {
	if i < 0 || i >= len(l.starts) {
		return ""
	}
	end := len(l.text)
	if i+1 < len(l.starts) {
		end = l.starts[i+1]
	}
	b := bytes.TrimRight(l.text[l.starts[i]:end], "\r\n")
	if bytes.IndexByte(b, 0x1b) < 0 && bytes.IndexByte(b, 0) < 0 {
		return string(b)
	}
	return plain(b)
}

// plain leaves out NULs and escape sequences: ESC [ parameters final byte.
func plain(b []byte) string {
	var s strings.Builder
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == 0:
		case b[i] == 0x1b && i+1 < len(b) && b[i+1] == '[':
			for i += 2; i < len(b) && (b[i] < 0x40 || b[i] > 0x7e); i++ {
			}
		case b[i] != 0x1b:
			s.WriteByte(b[i])
		}
	}
	return s.String()
}
