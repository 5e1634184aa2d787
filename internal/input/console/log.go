package console

import (
	"bytes"
	"context"
	"fmt"
	"strings"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// maxLine bounds a line in bytes: what is longer is cut into several.
const maxLine = 4096

// apart is how many lines are found from one kept place: text of nothing but ends of lines
// then takes a quarter as much memory again, and not eight times.
const apart = 32

// Log is a text as lines. Lines are views of the text until they are asked for.
type Log struct {
	ctx      context.Context // ends reading
	text     []byte
	lines    int
	starts   []int  // of every apart-th line
	next     int    // the line behind the last that was asked for
	nextAt   int    // and where it begins
	last     string // the last that was asked for
	lastText []byte // and what it stands for in the text
	cut      cut
	ram      *input.RAM
	memo     map[any]any
	part
	telling
}

// part says which part of a log a text is.
type part struct {
	bytes, line int         // in front of it
	most        int         // reports that are read of it
	before      map[any]any // the memos of the part before
}

// cut is a line whose message was asked for.
type cut struct {
	says   Line
	of     string
	behind int // the line behind, 0: none was asked for
}

// pieces are those of the text, each with the beginning of the next, as long as a phrase may be. Once the context has ended, there
// are no more.
func (l *Log) pieces(yield func(piece []byte) bool) {
	const size, longest = 1 << 20, 64
	for at := 0; at < len(l.text) && l.ctx.Err() == nil; at += size {
		if !yield(l.text[at:min(len(l.text), at+size+longest)]) {
			return
		}
	}
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

// Before is what Memo has for key in the part of the log before, nil where there is none.
func (l *Log) Before(key any) any { return l.before[key] }

// Begins tells whether the text is the beginning of the log.
func (l *Log) Begins() bool { return l.part.bytes == 0 }

// How many reports are read of a log: a thread of a snapshot costs more memory than a short
// report has text. Reports of kernels have some four kilobytes, those of microcontrollers one.
const reportsFloor, bytesPerReport = 1 << 12, 1 << 10

// maxReports bounds the reports of a log of so many bytes.
func maxReports(size int) int { return reportsFloor + size/bytesPerReport }

// MaxReports bounds the reports that are read, by the length of the text.
func (l *Log) MaxReports() int { return l.most }

// TooMany says that the reports from line at on were not read.
func (l *Log) TooMany(at int) target.Issue {
	return target.Issue{Kind: target.IssueCapture, Text: fmt.Sprintf("%d reports were read, the most for a log of %d bytes; those from line %d on were not",
		maxReports(l.bytes+len(l.text)), l.bytes+len(l.text), l.line+at+1)}
}

// RAM is the memory that the user gave beside the log, nil for none.
func (l *Log) RAM() *input.RAM { return l.ram }

// NewLog cuts text into lines, which end in LF, CR or both. NULs count as nothing. Once ctx has ended, there are no
// lines.
func NewLog(ctx context.Context, text []byte) *Log {
	return newLog(ctx, text, nil, part{most: maxReports(len(text))})
}

// newLog is the log of a text whose lines are looked at for signs; nil: each line is taken to have one.
func newLog(ctx context.Context, text []byte, signs *signs, of part) *Log {
	l := &Log{ctx: ctx, text: text, part: of}
	for at, next := 0, 0; at < len(text); at = next {
		next = l.behind(at)
		if l.lines%apart == 0 {
			if ctx.Err() != nil {
				break
			}
			l.starts = append(l.starts, at)
		}
		l.look(signs, at, next)
		l.lines++
	}
	return l
}

// behind is where the line ends that begins at at, its end included.
func (l *Log) behind(at int) int {
	line := l.text[at:min(len(l.text), at+maxLine)]
	if len(line) > 0 && line[0] == '\n' {
		return at + 1
	}
	n := lineEnd(line)
	if n >= 0 {
		line = line[:n]
	}
	next := nextTime(line)
	switch {
	case next > 0:
		return at + next
	case n < 0:
		return min(len(l.text), at+maxLine)
	}
	at += n
	for i := range min(maxReturns, len(l.text)-at) {
		switch l.text[at+i] {
		case '\r':
		case '\n':
			return at + i + 1
		default:
			return at + 1
		}
	}
	return at + 1
}

// lineEnd is the index of the first line feed or carriage return, −1 for none.
func lineEnd(text []byte) int {
	const short = 16 // bytes, which are looked at faster one by one
	for i, c := range text[:min(len(text), short)] {
		if c == '\n' || c == '\r' {
			return i
		}
	}
	n := bytes.IndexByte(text, '\n')
	if n >= 0 {
		text = text[:n]
	}
	if r := bytes.IndexByte(text, '\r'); r >= 0 {
		return r
	}
	return n
}

// maxReturns bounds the end of a line: terminals and daemons each put a CR in front of LF.
const maxReturns = 8

// maxTime bounds what stands between the brackets of a time of printk, in bytes.
const maxTime = 48

// nextTime is where the second message begins of a line that has several, 0 for none: pages and forms make one line of
// many, and two consoles print into one.
//
//	[ 2052.055150][ T1668] Call trace: [ 2052.055152][ T1668] __switch_to+0x25c/0x41c [ 2052.055154][ T1668] __schedule+0x6a0/0xaac
func nextTime(line []byte) int {
	first := -1 // behind the first time
	if len(line) < len("[0.000000]x[0.000001]") || bytes.IndexByte(line[bytes.IndexByte(line, '[')+1:], '[') < 0 {
		return 0
	}
	for i := 0; ; {
		n := bytes.IndexByte(line[i:], '[')
		if n < 0 {
			return 0
		}
		at := i + n
		i = at + 1
		end := bytes.IndexByte(line[i:min(len(line), i+maxTime)], ']')
		if end < 0 || !isTime(string(line[i:i+end])) {
			continue
		}
		if first >= 0 && len(bytes.TrimSpace(line[first:at])) > 0 {
			if level := len("<4>"); at >= level && line[at-level] == '<' && line[at-1] == '>' {
				at -= level
			}
			return at
		}
		first = i + end + 1
	}
}

// Len is the number of lines, 0 once the context has ended: loops over lines end there.
func (l *Log) Len() int {
	if l.ctx.Err() != nil {
		return 0
	}
	return l.lines
}

// Line returns line i, counted from 0, without its end, escape sequences of terminals
// (ECMA-48, 5.4) and NULs; "" behind the last line.
func (l *Log) Line(i int) string {
	if i < 0 || i >= l.lines {
		return ""
	}
	if i == l.next-1 { // several readers look at a line, one after the other
		return l.last
	}
	at := l.nextAt
	if i != l.next {
		at = l.offset(i)
	}
	l.next, l.nextAt = i+1, l.behind(at)
	b := withoutEnd(l.text[at:l.nextAt])
	if l.lastText != nil && bytes.Equal(b, l.lastText) { // terminals and pages fill with one line
		return l.last
	}
	l.lastText = b
	if isPlain(b) {
		l.last = string(b)
	} else {
		l.last = plain(b)
	}
	l.last = unpadded(l.last)
	return l.last
}

// withoutEnd is a line without its end.
func withoutEnd(line []byte) []byte {
	for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
		line = line[:len(line)-1]
	}
	return line
}

// isPlain tells whether a line has no bytes that are left out.
func isPlain(line []byte) bool {
	return bytes.IndexByte(line, 0x1b) < 0 && bytes.IndexByte(line, 0) < 0 && bytes.IndexByte(line, 0xff) < 0
}

// unpadded is a line without the rest of a wide terminal's row, up to which a narrower program broke the line:
//
//	GP      : 0x40                                                                                       80d3f0
func unpadded(line string) string {
	if !mayBePadded(line) {
		return line
	}
	before, behind, found := strings.Cut(line, row)
	if rest := strings.TrimLeft(behind, " "); found && rest != "" && strings.TrimSpace(before) != "" {
		return before + rest
	}
	return line
}

// row are blanks, wider than columns of tables are apart.
const row = "                                                                "

// mayBePadded tells whether a line may have so many blanks: one of each len(row) bytes is one then.
func mayBePadded[T string | []byte](line T) bool {
	blank := len(row) - 1
	for blank < len(line) && line[blank] != ' ' {
		blank += len(row)
	}
	return blank < len(line)
}

// BehindBlank is the first line from i on that may say something: of empty lines, a log may have millions.
func (l *Log) BehindBlank(i int) int {
	if i >= l.lines || l.Line(i) != "" {
		return i
	}
	return l.behindRun(func(text []byte) int { return lineFeed(text, 0) })
}

// BehindFragments is the first line from i on that is no fragment.
func (l *Log) BehindFragments(i int) int {
	if i >= l.lines || !isFragment(l.Line(i)) {
		return i
	}
	return l.behindRun(behindFragment)
}

// behindFragment is where the text goes on behind a fragment and its line feed, 0 where something else is there.
func behindFragment(text []byte) int {
	n := 0
	for n < len(text) && isFragment(text[:n+1]) {
		n++
	}
	if n == 0 {
		return 0
	}
	return lineFeed(text, n)
}

// lineFeed is behind a line feed at n, 0 where there is none.
func lineFeed(text []byte, n int) int {
	if n < len(text) && text[n] == '\n' {
		return n + 1
	}
	return 0
}

// behindRun passes over lines behind the last that was asked for, as long as behind says where each ends.
func (l *Log) behindRun(behind func(text []byte) int) int {
	const most = 1 << 16 // then the caller asks its context
	begins := -1         // the last line that was passed over
	for range most {
		n := behind(l.text[l.nextAt:])
		if n == 0 {
			break
		}
		begins = l.nextAt
		l.next, l.nextAt = l.next+1, l.nextAt+n
	}
	behindAll := l.next
	if begins >= 0 {
		l.next, l.nextAt = behindAll-1, begins
		l.Line(behindAll - 1)
	}
	return behindAll
}

// offset is where line i begins in the text; behind the last line, the text's length.
func (l *Log) offset(i int) int {
	if i >= l.lines {
		return len(l.text)
	}
	at, left := l.starts[i/apart], i%apart
	if l.next <= i && l.next/apart == i/apart { // a line behind one that was asked for
		at, left = l.nextAt, i-l.next
	}
	for range left {
		at = l.behind(at)
	}
	return at
}

// Message is what line i says.
func (l *Log) Message(i int) Line {
	if i+1 != l.cut.behind {
		if line := l.Line(i); l.cut.behind == 0 || line != l.cut.of {
			l.cut.says, l.cut.of = cutLine(line), line
		}
		l.cut.behind = i + 1
	}
	return l.cut.says
}

// plain leaves out NULs, bytes of erased flash, which no encoding of text has, and escape sequences: ESC [ parameters
// final byte.
func plain(b []byte) string { return string(appendPlain(nil, b)) }

func appendPlain(dst, b []byte) []byte {
	for i := 0; i < len(b); i++ {
		switch {
		case b[i] == 0, b[i] == 0xff:
		case b[i] == 0x1b && i+1 < len(b) && b[i+1] == '[':
			for i += 2; i < len(b) && (b[i] < 0x40 || b[i] > 0x7e); i++ {
			}
		case b[i] != 0x1b:
			dst = append(dst, b[i])
		}
	}
	return dst
}
