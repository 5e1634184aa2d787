package snapshot

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
)

// maxDepth bounds the nesting of values that are skipped.
const maxDepth = 200

// scanner reads JSON (RFC 8259) in place, in one pass, without building values:
// a snapshot is mostly one long base64 string. What encoding/json accepts it
// accepts; it does not look at control characters within strings. After an error
// everything reads as empty.
type scanner struct {
	ctx  context.Context // ends the reading; nil: nothing does
	b    []byte
	pos  int
	ask  int    // the position from which on ctx is asked again
	what string // the first error, at pos; "" none
}

func (s *scanner) failed() bool { return s.what != "" }

func (s *scanner) fail(what string) {
	if s.what == "" {
		s.what = what
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.b) {
		switch c := s.b[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
			s.goesOn()
		default:
			return c
		}
	}
	return 0
}

// open enters an object or array and tells whether it has an element. Loop with
//
//	for more := s.open('{', '}'); more; more = s.next('}') { … }
func (s *scanner) open(left, right byte) bool {
	if !s.expect(left) {
		return false
	}
	if s.peek() == right {
		s.pos++
		return false
	}
	return !s.failed()
}

// goesOn asks the context once for some kilobytes.
func (s *scanner) goesOn() {
	if s.pos < s.ask || s.ctx == nil {
		return
	}
	s.ask = s.pos + 1<<14
	if err := s.ctx.Err(); err != nil {
		s.fail(err.Error())
		s.pos = len(s.b)
	}
}

// next goes on to the next element and tells whether there is one.
func (s *scanner) next(right byte) bool {
	if s.goesOn(); s.failed() {
		return false
	}
	switch s.peek() {
	case ',':
		s.pos++
		return true
	case right:
		s.pos++
		return false
	}
	s.fail("expected a comma or " + strconv.QuoteRune(rune(right)))
	return false
}

func (s *scanner) expect(c byte) bool {
	if s.failed() {
		return false
	}
	if s.peek() != c {
		s.fail("expected " + strconv.QuoteRune(rune(c)))
		return false
	}
	s.pos++
	return true
}

// key reads a member's name and the colon behind it.
func (s *scanner) key() []byte {
	k := s.str()
	s.expect(':')
	return k
}

// str reads a string. The bytes are those of the input where nothing is escaped.
func (s *scanner) str() []byte {
	if !s.expect('"') {
		return nil
	}
	rest := s.b[s.pos:]
	n := bytes.IndexByte(rest, '"')
	if n >= 0 && bytes.IndexByte(rest[:n], '\\') < 0 {
		s.pos += n + 1
		return rest[:n]
	}
	return s.escaped()
}

// escaped reads a string that has escapes; s.pos is behind the opening quote.
func (s *scanner) escaped() []byte {
	for i := s.pos; i < len(s.b); i++ {
		switch s.b[i] {
		case '\\':
			i++
		case '"':
			var v string
			if json.Unmarshal(s.b[s.pos-1:i+1], &v) != nil {
				s.fail("bad escape in a string")
				return nil
			}
			s.pos = i + 1
			return []byte(v)
		}
	}
	s.fail("a string without an end")
	return nil
}

// word reads a number or a literal.
func (s *scanner) word() []byte {
	s.peek()
	from := s.pos
	for s.pos < len(s.b) && wordByte(s.b[s.pos]) {
		s.pos++
	}
	if from == s.pos {
		s.fail("expected a value")
	}
	return s.b[from:s.pos]
}

func wordByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// skip passes over any value.
func (s *scanner) skip(depth int) {
	if depth > maxDepth {
		s.fail("nested too deeply")
		return
	}
	switch s.peek() {
	case '{':
		for more := s.open('{', '}'); more; more = s.next('}') {
			s.key()
			s.skip(depth + 1)
		}
	case '[':
		for more := s.open('[', ']'); more; more = s.next(']') {
			s.skip(depth + 1)
		}
	case '"':
		s.str()
	default:
		s.word()
	}
}

// text reads a string, or the word that stands instead of one; null is "".
func (s *scanner) text() string {
	if s.peek() == '"' {
		return string(s.str())
	}
	if w := s.word(); string(w) != "null" {
		return string(w)
	}
	return ""
}

// truth reads true or false; null is false.
func (s *scanner) truth() bool {
	w := s.word()
	switch string(w) {
	case "true":
		return true
	case "false", "null":
		return false
	}
	s.fail("expected true or false")
	return false
}

// number reads an integer: hex in a string, with or without 0x, or a JSON
// number. ok is false for null, and after an error.
func (s *scanner) number() (v uint64, ok bool) {
	at := s.pos
	if s.peek() == '"' {
		v, ok = hexNumber(s.str())
	} else {
		w := s.word()
		if string(w) == "null" {
			return 0, false
		}
		v, ok = decimal(w)
	}
	if !ok && !s.failed() {
		s.pos = at
		s.fail("expected a hex string or an integer")
	}
	return v, ok
}

// hexNumber decodes up to 16 digits; a minus sign negates.
func hexNumber(b []byte) (v uint64, ok bool) {
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		b = b[1:]
	}
	if len(b) > 2 && b[0] == '0' && b[1]|0x20 == 'x' {
		b = b[2:]
	}
	for _, c := range b {
		if v>>60 != 0 {
			return 0, false
		}
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | uint64(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			v = v<<4 | uint64(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	if neg {
		v = -v
	}
	return v, len(b) > 0
}

// decimal decodes a JSON number that is an integer of 64 bits.
func decimal(b []byte) (uint64, bool) {
	if v, err := strconv.ParseUint(string(b), 10, 64); err == nil {
		return v, true
	}
	v, err := strconv.ParseInt(string(b), 10, 64)
	return uint64(v), err == nil
}
