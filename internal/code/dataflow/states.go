package dataflow

import "github.com/backsight/backsight/internal/code/absint"

// states keeps the states of one function's blocks, equal ones once: most blocks of a
// function have the registers and slots of a block before.
type states struct {
	known map[absint.Encoded]absint.Encoded
	bytes int // of known
	buf   []byte
}

// maxKnown bounds the bytes of states that are looked for an equal one. A function of
// 4,096 blocks has some hundred kilobytes.
const maxKnown = 1 << 20

// keep returns the encoding of a state.
func (s *states) keep(st *absint.State) absint.Encoded {
	s.buf = absint.AppendEncoded(s.buf[:0], st)
	return s.same()
}

// join makes the state of a block what holds in st too, and tells whether that is less.
func (s *states) join(b *block, st *absint.State) (less bool) {
	if s.buf, less = b.in.AppendJoin(s.buf[:0], st); less {
		b.in = s.same()
	}
	return less
}

// same returns what is in the buffer as a string, the one that there is of equal ones.
func (s *states) same() absint.Encoded {
	if e, ok := s.known[absint.Encoded(s.buf)]; ok {
		return e
	}
	if s.bytes > maxKnown || s.known == nil {
		s.known, s.bytes = map[absint.Encoded]absint.Encoded{}, 0
	}
	e := absint.Encoded(s.buf)
	s.known[e], s.bytes = e, s.bytes+len(e)
	return e
}
