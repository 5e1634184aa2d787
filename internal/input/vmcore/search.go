package vmcore

import (
	"bytes"
	"context"

	"github.com/backsight/backsight/target"
)

// chunk is how much of memory is searched at a time.
const chunk = 1 << 20

// search calls visit with the physical addresses at which pattern stands, until visit
// returns false or ctx ends.
func search(ctx context.Context, m *target.Memory, pattern string, visit func(addr uint64) bool) {
	searchIn(ctx, m, target.Range{Hi: ^uint64(0)}, pattern, visit)
}

// searchIn is search in the memory that begins in a range.
func searchIn(ctx context.Context, m *target.Memory, in target.Range, pattern string, visit func(addr uint64) bool) {
	want := []byte(pattern)
	step := uint64(chunk - len(want) + 1)
	var buf []byte // of all segments: a dump whose bitmap lies has a million
	for i := range m.Segments() {
		s := &m.Segments()[i]
		lo, hi := max(s.Addr, in.Lo), min(s.Addr+s.Size(), in.Hi)
		if !s.Paged() {
			hi = min(hi, s.Addr+uint64(len(s.Data))) // zeros follow the data
		} else if buf == nil {
			buf = make([]byte, chunk)
		}
		for at := lo; at < hi && ctx.Err() == nil; at += step {
			data := buf
			if s.Paged() {
				data = data[:m.Read(at, data[:min(chunk, hi-at)])]
			} else {
				data = s.Data[at-s.Addr:][:min(chunk, hi-at)]
			}
			if !within(data, at, want, visit) {
				return
			}
			if hi-at <= step {
				break
			}
		}
	}
}

// within is search in the bytes at an address.
func within(data []byte, addr uint64, want []byte, visit func(uint64) bool) bool {
	for at := 0; ; {
		n := bytes.Index(data[at:], want)
		if n < 0 {
			return true
		}
		if at += n; !visit(addr + uint64(at)) {
			return false
		}
		at++
	}
}

// filled copies n bytes of memory from an address on, with zeros where there are none: the
// kernel unmaps the part of its data that only its start needed.
func filled(m *target.Memory, addr uint64, n int) []byte {
	b := make([]byte, n)
	for i := range m.Segments() {
		s := &m.Segments()[i]
		if lo, hi := max(s.Addr, addr), min(s.Addr+s.Size(), addr+uint64(n)); lo < hi {
			m.Read(lo, b[lo-addr:hi-addr])
		}
	}
	return b
}

// across copies memory from an address on, up to n bytes, with zeros in gaps: a kernel may unmap the
// code of its start (arm64, free_initmem), and the rest of its data lies behind. The copy ends at a gap as
// large as what lies before that. run is how much lies before the first gap.
func across(m *target.Memory, addr uint64, n int) (b []byte, run int) {
	end := addr
	for i := range m.Segments() {
		s := &m.Segments()[i]
		lo, hi := max(s.Addr, addr), min(s.Addr+s.Size(), addr+uint64(n))
		if lo >= hi {
			continue
		}
		if lo > end && run == 0 {
			run = int(end - addr)
		}
		if lo-end > end-addr {
			break
		}
		end = hi
	}
	b = filled(m, addr, int(end-addr))
	if run == 0 {
		run = len(b)
	}
	return b, run
}

// bytesAt copies n bytes of memory from an address on, fewer where they end.
func bytesAt(m *target.Memory, addr uint64, n int) []byte {
	b := make([]byte, n)
	return b[:m.Read(addr, b)]
}

// blank tells whether bytes are all 0.
func blank(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }
