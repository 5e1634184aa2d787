package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
)

// maxLine bounds one snapshot's text: the RAM of a large microcontroller system
// or all the stacks of a process, in base64.
const maxLine = 256 << 20

// keepBuffer is how large a line buffer may stay for the next line, and how long an object that is copied out of a
// mapped file.
const keepBuffer = 4 << 20

var errLongLine = errors.New("longer than 256 MiB")

// lines cuts the input into JSON objects. An object usually takes one line; one
// that is printed over several ends where its braces balance.
type lines struct {
	ctx   context.Context // of the call of Next
	r     *bufio.Reader
	whole []byte // all bytes of a capture that is a mapped file, else nil
	buf   []byte // the current object, a part of whole where it is long
	max   int    // bytes of an object
	// line and offset are where the current object begins: counted from 1, and
	// bytes of the decompressed input.
	line   int
	offset int64

	nextLine   int
	nextOffset int64
}

func newLines(r io.Reader, whole []byte) *lines {
	return &lines{ctx: context.Background(), r: bufio.NewReaderSize(r, 256<<10), whole: whole, max: maxLine, nextLine: 1}
}

// next returns the next object's text, valid until the following call. Blank
// lines are skipped. errLongLine concerns one line only.
func (l *lines) next() ([]byte, error) {
	if cap(l.buf) > keepBuffer {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	for len(bytes.TrimSpace(l.buf)) == 0 {
		l.line, l.offset, l.buf = l.nextLine, l.nextOffset, l.buf[:0]
		if err := l.readLine(); err != nil {
			return nil, err
		}
		if rest, marked := bytes.CutPrefix(l.buf, []byte("\xef\xbb\xbf")); marked && l.line == 1 {
			l.buf, l.offset = rest, l.offset+3
		}
	}
	var b balance
	l.weigh(&b, 0)
	for b.open() && !l.startsObject() {
		from := len(l.buf)
		if err := l.readLine(); err == io.EOF {
			break
		} else if err != nil {
			return nil, err
		}
		l.weigh(&b, from)
	}
	return l.buf, l.ctx.Err()
}

// weigh counts the braces of the current object from a place on, until the context ends.
func (l *lines) weigh(b *balance, from int) {
	const piece = 1 << 20
	for text := l.buf[from:]; len(text) > 0 && l.ctx.Err() == nil; text = text[min(piece, len(text)):] {
		b.add(text[:min(piece, len(text))])
	}
}

// readLine appends a line to the buffer. io.EOF only where nothing was left.
func (l *lines) readLine() error {
	n, long := 0, false
	for {
		part, err := l.r.ReadSlice('\n')
		n += len(part)
		if long = long || len(l.buf)+len(part) > l.max; !long {
			l.keep(part)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		l.nextOffset += int64(n)
		l.nextLine++
		switch {
		case err != nil && err != io.EOF:
			return err
		case n == 0:
			return io.EOF
		case long:
			return errLongLine
		}
		return nil
	}
}

// keep appends a part of a line to the current object.
func (l *lines) keep(part []byte) {
	n := len(l.buf) + len(part)
	if n > keepBuffer && l.whole != nil {
		l.buf = l.whole[l.offset:][:n:n]
		return
	}
	if n > cap(l.buf) {
		// Doubling leaves less behind for the collector than append's growth by a quarter.
		l.buf = slices.Grow(l.buf, max(len(part), len(l.buf)))
	}
	l.buf = append(l.buf, part...)
}

// startsObject tells whether the next line begins another snapshot. A line that
// was cut short ({"arch":"mips","regs":{) must not swallow the ones behind it;
// printers that indent put white space first, and those that indent by nothing
// (Python's indent=0) put a nested brace on a line of its own.
func (l *lines) startsObject() bool {
	head, _ := l.r.Peek(2)
	return string(head) == `{"`
}

// balance counts braces and brackets outside of strings.
type balance struct {
	depth    int
	inString bool
}

// open tells whether an object has begun and goes on; a string never goes on
// over the end of a line.
func (b *balance) open() bool { return b.depth > 0 && !b.inString }

func (b *balance) add(text []byte) {
	for i := 0; i < len(text); i++ {
		if b.inString {
			i += b.endOfString(text[i:])
			continue
		}
		switch text[i] {
		case '"':
			b.inString = true
		case '{', '[':
			b.depth++
		case '}', ']':
			b.depth--
		}
	}
}

// endOfString returns the index of the quote that ends the string which text
// continues, else the last index.
func (b *balance) endOfString(text []byte) int {
	if n := bytes.IndexByte(text, '"'); n >= 0 && bytes.IndexByte(text[:n], '\\') < 0 {
		b.inString = false
		return n
	}
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			b.inString = false
			return i
		case '\\':
			i++
		}
	}
	return len(text) - 1
}
