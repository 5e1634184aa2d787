package target

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sort"
	"sync/atomic"
)

// Memory is the captured address space: segments sorted by address, not
// overlapping, each with bytes that are not copied or that a Pager reads on demand.
// Build one with a Builder. It is safe for concurrent use.
type Memory struct {
	segs []Segment
	runs []Range // that segs of the same permissions cover without a gap, sorted
	code []Range // segs that may hold code, sorted
	big  bool
	addr uint64 // mask of address bits
	word int

	joined atomic.Value // *joints, once segments that adjoin were read as one: of the many memories of a recording none is
}

// Segment is a run of captured bytes.
type Segment struct {
	Addr uint64
	Data []byte
	// Rest is how many bytes follow Data: zeros (bss, holes of a sparse core) or, in a
	// segment of Builder.AddPaged, what its Pager reads.
	Rest uint64
	Perm Perm

	pages *pages // where Rest comes from; nil: zeros
}

// Perm says what a segment allows. PermUnknown where the capture does not tell.
type Perm uint8

// The permission bits.
const (
	PermRead Perm = 1 << iota
	PermWrite
	PermExec
	PermUnknown Perm = 0
)

// PermOf are the permissions that are true.
func PermOf(read, write, exec bool) (p Perm) {
	if read {
		p |= PermRead
	}
	if write {
		p |= PermWrite
	}
	if exec {
		p |= PermExec
	}
	return p
}

// Size is the length of the run.
func (s *Segment) Size() uint64 { return uint64(len(s.Data)) + s.Rest }

// Paged tells whether Rest is what a Pager reads; else Rest is zeros.
func (s *Segment) Paged() bool { return s.pages != nil }

// Segments returns the segments, sorted, not overlapping. Do not change them.
func (m *Memory) Segments() []Segment { return m.segs }

// MayHoldCode are the segments that are executable, or of which the capture does not tell, in order of address. A program of ten
// thousand threads has some of these among twenty thousand.
func (m *Memory) MayHoldCode() []Range {
	if m == nil {
		return nil
	}
	return m.code
}

// appendCode appends the segments that may hold code.
func appendCode(code []Range, segs []Segment) []Range {
	for i := range segs {
		if s := &segs[i]; s.Perm == PermUnknown || s.Perm&PermExec != 0 {
			code = append(code, Range{s.Addr, s.Addr + s.Size()})
		}
	}
	return code
}

// Size is how many bytes of memory the capture holds as they are.
func (m *Memory) Size() (n uint64) {
	for i := range m.segs {
		n += uint64(len(m.segs[i].Data))
	}
	return n
}

// find returns the segment that holds addr.
func (m *Memory) find(addr uint64) *Segment {
	lo, hi := 0, len(m.segs)
	for lo < hi {
		k := int(uint(lo+hi) >> 1)
		if m.segs[k].Addr <= addr {
			lo = k + 1
		} else {
			hi = k
		}
	}
	if lo == 0 || addr-m.segs[lo-1].Addr >= m.segs[lo-1].Size() {
		return nil
	}
	return &m.segs[lo-1]
}

// Word reads an address-sized word.
func (m *Memory) Word(addr uint64) (uint64, bool) { return m.Uint(addr, m.word) }

// Uint reads an unsigned integer of size bytes, at most 8. It fails when any
// byte was not captured.
func (m *Memory) Uint(addr uint64, size int) (uint64, bool) {
	addr &= m.addr
	s := m.find(addr)
	if s == nil {
		return 0, false
	}
	off := addr - s.Addr
	if n := uint64(len(s.Data)); off >= n || uint64(size) > n-off {
		return m.slowUint(addr, size)
	}
	return m.number(s.Data[off : off+uint64(size)]), true
}

// number decodes up to eight bytes, most often a register's.
func (m *Memory) number(b []byte) (v uint64) {
	if len(b) == 8 {
		if v = binary.LittleEndian.Uint64(b); m.big {
			v = bits.ReverseBytes64(v)
		}
		return v
	}
	for i, c := range b {
		if m.big {
			v = v<<8 | uint64(c)
		} else {
			v |= uint64(c) << (8 * i)
		}
	}
	return v
}

// slowUint reads across segments, and what follows their Data.
func (m *Memory) slowUint(addr uint64, size int) (uint64, bool) {
	var buf [8]byte
	if m.Read(addr, buf[:size]) != size {
		return 0, false
	}
	return m.number(buf[:size]), true
}

// Read copies captured bytes at addr into dst and returns how many there were
// without a gap.
func (m *Memory) Read(addr uint64, dst []byte) int {
	n := 0
	for n < len(dst) {
		a := (addr + uint64(n)) & m.addr
		s := m.find(a)
		if s == nil {
			return n
		}
		off := a - s.Addr
		if off < uint64(len(s.Data)) {
			n += copy(dst[n:], s.Data[off:])
			continue
		}
		rest := dst[n:][:min(s.Size()-off, uint64(len(dst)-n))]
		if s.pages == nil {
			clear(rest)
		} else if got := s.pages.read(a, rest); got < len(rest) {
			return n + got
		}
		n += len(rest)
	}
	return n
}

// CString returns the string of C at addr, without its NUL; "" where no NUL was captured within most bytes.
func (m *Memory) CString(addr uint64, most int) string {
	b := make([]byte, most)
	n := m.Read(addr, b)
	return string(b[:max(bytes.IndexByte(b[:n], 0), 0)])
}

// Bytes returns captured bytes from addr on without copying: to the end of the
// segment's data, or of the page where a Pager reads them; nil when addr was not
// captured. Close to the end they are a copy that goes on behind it, where the next segment adjoins.
// Do not change them. They stay as they are for as long as they are in use.
func (m *Memory) Bytes(addr uint64) []byte {
	addr &= m.addr
	s := m.find(addr)
	if s == nil || addr-s.Addr >= uint64(len(s.Data)) {
		return m.paged(s, addr)
	}
	if b := s.Data[addr-s.Addr:]; len(b) >= minRun || s.Rest > 0 {
		return b
	}
	return m.across(addr, s.Data[addr-s.Addr:])
}

// across is b, the end of a segment, and what follows it in the next.
func (m *Memory) across(addr uint64, b []byte) []byte {
	if m.find(addr+uint64(len(b))) == nil {
		return b
	}
	all, ok := m.joined.Load().(*joints)
	if !ok {
		m.joined.CompareAndSwap(nil, new(joints))
		all = m.joined.Load().(*joints)
	}
	kept := &all[addr/4%maxJoined]
	j, ok := kept.Load().(*joint)
	if !ok || j.addr != addr {
		j = &joint{addr: addr}
		j.n = m.Read(addr, j.run[:])
		kept.Store(j)
	}
	return j.run[:j.n]
}

// joint is a run of bytes of two segments or more.
type joint struct {
	addr uint64
	run  [minRun]byte
	n    int
}

// joints are the runs that are kept, by address.
type joints [maxJoined]atomic.Value // *joint

// maxJoined bounds the runs that are kept: few segments that adjoin hold code, as where a signal's trampoline was captured beside the
// stack.
const maxJoined = 16

// minRun is how many bytes Bytes returns where there are as many: as long as
// the signal trampolines and the instructions before a return address, which are looked
// at as one run wherever they lie.
const minRun = 64

// paged is Bytes where the segment, which may be nil, has no data: the rest of the page
// or, close to its end, a copy that goes on behind it.
func (m *Memory) paged(s *Segment, addr uint64) []byte {
	if s == nil || s.pages == nil {
		return nil
	}
	b := s.pages.from(addr, s.Addr+s.Size())
	if len(b) >= minRun || len(b) == 0 {
		return b
	}
	run := make([]byte, minRun)
	return run[:m.Read(addr, run)]
}

// Err is the first error of a Pager, nil where each has read what it was asked for. A
// reader that finds bytes missing sees the same as where they were not captured.
func (m *Memory) Err() error {
	for i := range m.segs {
		if p := m.segs[i].pages; p != nil && p.failure() != nil {
			return p.failure()
		}
	}
	return nil
}

// PermAt returns the permissions at addr and whether it was captured.
func (m *Memory) PermAt(addr uint64) (Perm, bool) {
	s := m.find(addr & m.addr)
	if s == nil {
		return 0, false
	}
	return s.Perm, true
}

// RangeAt returns the longest run of captured addresses around addr, all of them with the same
// permissions; empty when addr was not captured. An SP right at the end of a run belongs to that
// run.
func (m *Memory) RangeAt(addr uint64) Range {
	i := sort.Search(len(m.runs), func(i int) bool { return m.runs[i].Lo > addr }) - 1
	if i < 0 || addr > m.runs[i].Hi {
		return Range{}
	}
	return m.runs[i]
}

// appendRuns appends the runs of sorted segments. Every thread asks for that of its stack: to go
// from segment to segment each time would cost threads times segments, some 10^10 in a core of
// 20 MB.
func appendRuns(runs []Range, segs []Segment) []Range {
	for i := range segs {
		s := &segs[i]
		if n := len(runs) - 1; i > 0 && runs[n].Hi == s.Addr && segs[i-1].Perm == s.Perm {
			runs[n].Hi += s.Size()
			continue
		}
		runs = append(runs, Range{s.Addr, s.Addr + s.Size()})
	}
	return runs
}
