package dataflow

import "github.com/backsight/backsight/internal/code/absint"

// states keeps the states of one function's blocks, equal ones once: most blocks of a
// function have the registers and slots of a block before.
type states struct {
	known map[absint.Encoded]absint.Encoded
	bytes int // of known
	buf   []byte
}

// maxKnown bounds the bytes of the states that are kept to share equal ones. The states of a
// function of 4,096 blocks take some hundred kilobytes.
const maxKnown = 1 << 20

// keep returns the encoding of a state.
func (s *states) keep(st *absint.State) absint.Encoded {
	s.buf = absint.AppendEncoded(s.buf[:0], st)
	return s.same()
}

// join makes the state of a block what holds both there and in st, and tells whether that is less
// than what held in the block.
func (s *states) join(b *block, st *absint.State) (less bool) {
	if s.buf, less = b.in.AppendJoin(s.buf[:0], st); less {
		b.in = s.same()
	}
	return less
}

// same returns the encoded state that is in the buffer. Equal states share their bytes.
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
