package breakpad

import (
	"bytes"
	"strconv"

	"github.com/backsight/backsight/image"
)

const (
	maxInlines = 64      // calls that were inlined into one another at one place
	maxLines   = 1 << 16 // lines of one function that are looked at
)

// addName notes where the line of a numbered name is.
func addName(list *[]function, rest []byte, at uint32) {
	if n, ok := decimal(rest); ok {
		*list = append(*list, function{addr: n, line: at})
	}
}

// decimal reads a decimal number that a space ends.
func decimal(s []byte) (uint64, bool) {
	word, _, _ := bytes.Cut(s, []byte(" "))
	n, err := strconv.ParseUint(string(word), 10, 32)
	return n, err == nil
}

// name is a numbered name. Of an inlined function's dump_syms once wrote a file's number in front.
func (c *container) name(list []function, n uint64) string {
	f := last(list, n)
	if f == nil || f.addr != n {
		return ""
	}
	line := c.line(f)
	kind, rest, _ := bytes.Cut(line, []byte(" "))
	_, rest, _ = bytes.Cut(rest, []byte(" "))
	if old, name, ok := bytes.Cut(rest, []byte(" ")); ok && string(kind) == "INLINE_ORIGIN" {
		if _, err := strconv.ParseUint(string(old), 10, 32); err == nil {
			rest = name
		}
	}
	return string(rest)
}

// LineAt is the place in the source of an address, and of the calls inlined there: the lines behind a FUNC record tell.
func (c *container) LineAt(addr uint64) (l image.SourceLine, ok bool) {
	f := last(c.functions, addr)
	if f == nil || !f.contains(addr) {
		return l, false
	}
	var calls []call
	text := c.file.Data[int(f.line)+len(c.line(f)):]
	text = bytes.TrimLeft(text, "\r\n")
	for n := 0; len(text) > 0 && n < maxLines; n++ {
		line, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		fields := bytes.Fields(line)
		if len(fields) > 0 && string(fields[0]) == "INLINE" {
			calls = appendCall(calls, fields[1:], addr)
			continue
		}
		at, size, ok := span(fields)
		if !ok || len(fields) != 4 { // another function begins
			break
		}
		if addr-at < size {
			return c.inlined(calls, c.place(fields[2], fields[3])), true
		}
	}
	return l, false
}

// place is the place that a line's number and a file's name.
func (c *container) place(line, file []byte) image.SourcePlace {
	n, _ := decimal(line)
	f, _ := decimal(file)
	return image.SourcePlace{File: c.name(c.files, f), Line: int(n)}
}

// span reads an address and a size, which a record begins with.
func span(fields [][]byte) (addr, size uint64, ok bool) {
	if len(fields) < 2 {
		return 0, 0, false
	}
	addr, _, ok = number(fields[0])
	size, _, known := number(fields[1])
	return addr, size, ok && known
}

// call is an INLINE record: what was inlined, and where that was called.
type call struct {
	origin, line, file uint64
	hasFile            bool
}

// appendCall appends the call of a record that covers an address. Records stand by depth, the outermost first. Before 2022
// they had no number of a file.
func appendCall(calls []call, fields [][]byte, addr uint64) []call {
	var c call
	if len(fields) < 5 || len(calls) == maxInlines {
		return calls
	}
	c.line, _ = decimal(fields[1])
	if fields = fields[2:]; len(fields)%2 == 0 {
		c.file, c.hasFile = decimal(fields[0])
		fields = fields[1:]
	}
	c.origin, _ = decimal(fields[0])
	for fields = fields[1:]; len(fields) >= 2; fields = fields[2:] {
		if at, size, ok := span(fields); ok && addr-at < size {
			return append(calls, c)
		}
	}
	return calls
}

// inlined is the place of an address with the calls around: the place is in the innermost function.
func (c *container) inlined(calls []call, at image.SourcePlace) (l image.SourceLine) {
	for i := len(calls) - 1; i >= 0; i-- {
		l.Inlines = append(l.Inlines, image.InlinedCall{Function: c.name(c.origins, calls[i].origin), SourcePlace: at})
		at = image.SourcePlace{Line: int(calls[i].line)}
		if calls[i].hasFile {
			at.File = c.name(c.files, calls[i].file)
		}
	}
	l.SourcePlace = at
	return l
}

// StackWin is the STACK WIN record that covers an address: its words behind the type. Of several the smallest counts.
func (c *container) StackWin(addr uint64) (words [][]byte, frameData, ok bool) {
	const looked = 16 // records before the nearest that may be around it
	var best *function
	for f, n := last(c.win, addr), 0; f != nil && n < looked; f, n = last(c.win, f.addr-1), n+1 {
		if f.contains(addr) && (best == nil || f.size < best.size) {
			best = f
		}
		if f.addr == 0 {
			break
		}
	}
	if best == nil {
		return nil, false, false
	}
	fields := bytes.Fields(c.line(best))
	return fields[3:], string(fields[2]) == "4", true
}
