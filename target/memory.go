package target

import (
	"encoding/binary"
	"math/bits"
	"sort"

	"github.com/backsight/backsight/cpu"
)

// Memory is the captured address space: segments sorted by address, not
// overlapping, each with bytes that are not copied. Build one with a Builder.
type Memory struct {
	segs []Segment
	big  bool
	addr uint64 // mask of address bits
	word int
}

// Segment is a run of captured bytes.
type Segment struct {
	Addr uint64
	Data []byte
	// Zero is how many zero bytes follow Data (bss, holes of a sparse core).
	Zero uint64
	Perm Perm
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

func (s *Segment) size() uint64 { return uint64(len(s.Data)) + s.Zero }

// Builder collects segments; where they overlap, later ones override earlier ones.
type Builder struct{ segs []Segment }

// Add adds a run of bytes at addr, followed by zero zero bytes. What would reach
// the last of 2⁶⁴ addresses is cut there, so that the end of a run is an address.
func (b *Builder) Add(addr uint64, data []byte, zero uint64, perm Perm) {
	room := ^uint64(0) - addr
	data = data[:min(uint64(len(data)), room)]
	zero = min(zero, room-uint64(len(data)))
	if len(data) == 0 && zero == 0 {
		return
	}
	b.segs = append(b.segs, Segment{Addr: addr, Data: data, Zero: zero, Perm: perm})
}

// Memory returns the address space collected so far, for an ABI's byte order and
// word size. It costs O(n log n) for n segments.
func (b *Builder) Memory(arch *cpu.Arch) *Memory {
	return &Memory{segs: flatten(b.segs), big: arch.BigEndian, addr: arch.AddrMask(), word: arch.AddrSize}
}

// flatten cuts overlapping segments so that the one added last wins everywhere.
func flatten(in []Segment) []Segment {
	type edge struct {
		at    uint64
		index int
		open  bool
	}
	edges := make([]edge, 0, 2*len(in))
	for i := range in {
		edges = append(edges, edge{in[i].Addr, i, true}, edge{in[i].Addr + in[i].size(), i, false})
	}
	sort.Slice(edges, func(i, j int) bool { return edges[i].at < edges[j].at })
	var active topHeap
	open := make([]bool, len(in))
	var out []Segment
	last := -1 // index in in that out's last segment was cut from
	for i, e := range edges {
		open[e.index] = e.open
		if e.open {
			active.push(e.index)
		}
		for len(active) > 0 && !open[active[0]] {
			active.pop()
		}
		if len(active) == 0 {
			last = -1
			continue
		}
		if edges[i+1].at == e.at {
			continue
		}
		lo, hi := e.at, edges[i+1].at
		if k := active[0]; k == last {
			lo, out = out[len(out)-1].Addr, out[:len(out)-1]
		} else {
			last = k
		}
		out = append(out, part(&in[last], lo, hi))
	}
	return out
}

// part is the part lo ≤ address < hi of s.
func part(s *Segment, lo, hi uint64) Segment {
	n := uint64(len(s.Data))
	from, to := min(lo-s.Addr, n), min(hi-s.Addr, n)
	p := Segment{Addr: lo, Perm: s.Perm, Data: s.Data[from:to]}
	p.Zero = hi - lo - uint64(len(p.Data))
	return p
}

// topHeap is a max-heap of segment indexes: the latest added is on top.
type topHeap []int

func (h *topHeap) push(v int) {
	*h = append(*h, v)
	a := *h
	for i := len(a) - 1; i > 0; {
		p := (i - 1) / 2
		if a[p] >= a[i] {
			return
		}
		a[p], a[i] = a[i], a[p]
		i = p
	}
}

func (h *topHeap) pop() {
	a := *h
	n := len(a) - 1
	a[0] = a[n]
	a = a[:n]
	*h = a
	for i := 0; ; {
		c := 2*i + 1
		if c >= n {
			return
		}
		if c+1 < n && a[c+1] > a[c] {
			c++
		}
		if a[i] >= a[c] {
			return
		}
		a[i], a[c] = a[c], a[i]
		i = c
	}
}

// Segments returns the segments, sorted, not overlapping. Do not change them.
func (m *Memory) Segments() []Segment { return m.segs }

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
	if lo == 0 || addr-m.segs[lo-1].Addr >= m.segs[lo-1].size() {
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

// slowUint reads across segments and zero tails, byte by byte.
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
		left := min(s.size()-off, uint64(len(dst)-n))
		clear(dst[n : n+int(left)])
		n += int(left)
	}
	return n
}

// Bytes returns captured bytes from addr on without copying: to the end of the
// segment's data, nil when addr was not captured.
func (m *Memory) Bytes(addr uint64) []byte {
	s := m.find(addr & m.addr)
	if s == nil || addr-s.Addr >= uint64(len(s.Data)) {
		return nil
	}
	return s.Data[addr-s.Addr:]
}

// PermAt returns the permissions at addr and whether it was captured.
func (m *Memory) PermAt(addr uint64) (Perm, bool) {
	s := m.find(addr & m.addr)
	if s == nil {
		return 0, false
	}
	return s.Perm, true
}

// RangeAt returns the longest run of captured addresses around addr; empty when
// addr was not captured. An SP right at the end of a run belongs to that run.
func (m *Memory) RangeAt(addr uint64) Range {
	i := sort.Search(len(m.segs), func(i int) bool { return m.segs[i].Addr > addr }) - 1
	if i < 0 || addr-m.segs[i].Addr > m.segs[i].size() {
		return Range{}
	}
	lo, hi := i, i
	for lo > 0 && m.segs[lo-1].Addr+m.segs[lo-1].size() == m.segs[lo].Addr && m.segs[lo-1].Perm == m.segs[i].Perm {
		lo--
	}
	for hi+1 < len(m.segs) && m.segs[hi].Addr+m.segs[hi].size() == m.segs[hi+1].Addr && m.segs[hi+1].Perm == m.segs[i].Perm {
		hi++
	}
	return Range{m.segs[lo].Addr, m.segs[hi].Addr + m.segs[hi].size()}
}
