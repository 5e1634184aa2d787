package target

import (
	"cmp"
	"context"
	"slices"

	"github.com/backsight/backsight/cpu"
)

// Builder collects segments; where they overlap, later ones override earlier ones.
type Builder struct {
	segs []Segment
	kept *keptPages      // of the last Pager, nil for none
	ctx  context.Context // ends Memory; nil: nothing does
}

// Until lets Memory end with ctx: to cut a million segments that overlap takes a second or two.
func (b *Builder) Until(ctx context.Context) { b.ctx = ctx }

// Grow makes room for n more runs, where their number is known and not only claimed.
func (b *Builder) Grow(n int) { b.segs = slices.Grow(b.segs, n) }

// Add adds a run of bytes at addr, followed by zero zero bytes. What would reach
// the last of 2⁶⁴ addresses is cut there, so that the end of a run is an address.
func (b *Builder) Add(addr uint64, data []byte, zero uint64, perm Perm) {
	room := ^uint64(0) - addr
	data = data[:min(uint64(len(data)), room)]
	zero = min(zero, room-uint64(len(data)))
	if len(data) == 0 && zero == 0 {
		return
	}
	b.segs = append(b.segs, Segment{Addr: addr, Data: data, Rest: zero, Perm: perm})
}

// AddConstant adds the bytes of a module's file that nobody can have written to; nothing where the file is not known.
func (b *Builder) AddConstant(m *Module) {
	if m.Image == nil {
		return
	}
	for _, seg := range m.Image.Segments {
		if !seg.Write {
			b.Add(m.ToTarget(seg.Addr), seg.Data, 0, PermOf(seg.Read, seg.Write, seg.Exec))
		}
	}
}

// AddPaged adds size bytes at addr that p reads as they are asked for.
func (b *Builder) AddPaged(addr, size uint64, p Pager, perm Perm) {
	size = min(size, ^uint64(0)-addr)
	if size == 0 {
		return
	}
	if !b.kept.of(p) {
		b.kept = &keptPages{source: p}
	}
	b.segs = append(b.segs, Segment{Addr: addr, Rest: size, Perm: perm, pages: &pages{Range{addr, addr + size}, b.kept}})
}

// Memory returns the address space collected so far, for an ABI's byte order and
// word size. It costs O(n log n) for n segments; where that was broken off (Until), the address space is not whole.
func (b *Builder) Memory(arch *cpu.Arch) *Memory {
	segs := flatten(b.segs, &ending{ctx: b.ctx})
	return &Memory{segs: segs, runs: slices.Clip(appendRuns(nil, segs)), code: slices.Clip(appendCode(nil, segs)), big: arch.BigEndian, addr: arch.AddrMask(), word: arch.AddrSize}
}

// flatten cuts overlapping segments so that the segment added last wins everywhere. Segments that
// ascend and do not overlap stay as they are; most captures have only such segments.
func flatten(in []Segment, end *ending) []Segment {
	if ascend(in) {
		return slices.Clip(in)
	}
	type edge struct {
		at    uint64
		index int
		open  bool
	}
	edges := make([]edge, 0, 2*len(in))
	for i := range in {
		edges = append(edges, edge{in[i].Addr, i, true}, edge{in[i].Addr + in[i].Size(), i, false})
	}
	slices.SortFunc(edges, func(a, b edge) int {
		if end.reached() {
			return 0 // what remains is in order at once
		}
		return cmp.Compare(a.at, b.at)
	})
	var active topHeap
	open := make([]bool, len(in))
	out := make([]Segment, 0, len(in))
	last := -1 // index in in that out's last segment was cut from
	for i, e := range edges {
		if end.reached() {
			break
		}
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

// ending asks a context from time to time.
type ending struct {
	ctx   context.Context // nil: never ends
	asked int
	is    bool
}

// askEvery is how many steps lie between two questions.
const askEvery = 1 << 12

func (e *ending) reached() bool {
	if e.asked++; e.asked%askEvery == 0 && e.ctx != nil {
		e.is = e.ctx.Err() != nil
	}
	return e.is
}

func ascend(segs []Segment) bool {
	for i := 1; i < len(segs); i++ {
		if segs[i].Addr < segs[i-1].Addr+segs[i-1].Size() {
			return false
		}
	}
	return true
}

// part is the part lo ≤ address < hi of s.
func part(s *Segment, lo, hi uint64) Segment {
	n := uint64(len(s.Data))
	from, to := min(lo-s.Addr, n), min(hi-s.Addr, n)
	p := Segment{Addr: lo, Perm: s.Perm, Data: s.Data[from:to], pages: s.pages}
	p.Rest = hi - lo - uint64(len(p.Data))
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
