package code

import (
	"runtime"
	"slices"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/packed"
	"github.com/backsight/backsight/unwind"
)

// Rows calls yield for the code of an image that sketches cover: from lo up to hi the
// first answer of Rule is rule, in mode, in exact frames at an instruction's first byte and in
// resuming ones at the others. They come in order of address, until yield returns
// false. What lies between has answers that need more work, or none. wanted leaves out
// what other sources have: it reports whether any of the bytes from lo up to hi are of
// interest; nil: all are. It is called concurrently.
func (s *Source) Rows(img *image.Image, wanted func(lo, hi uint64) bool, yield func(lo, hi uint64, mode cpu.Mode, rule packed.Row) bool) {
	if img.Arch.Decoder == nil {
		return
	}
	l := newLister(s.of(img), wanted)
	chunks := l.chunks()
	for _, c := range chunks {
		for _, r := range <-c {
			if !yield(r.lo, r.hi, r.mode, r.rule) {
				go drain(chunks)
				return
			}
		}
	}
}

// drain lets the workers end.
func drain(chunks []chan []listedRow) {
	for _, c := range chunks {
		for range c {
		}
	}
}

// listedRow: from lo up to hi the rule holds.
type listedRow struct {
	lo, hi uint64
	mode   cpu.Mode
	rule   packed.Row
}

// lister lists the rows between entries, a chunk of entries at a time on all cores.
type lister struct {
	an      *analysis
	entries []uint64 // keys, of both kinds
	wanted  func(lo, hi uint64) bool
}

func newLister(an *analysis, wanted func(lo, hi uint64) bool) *lister {
	an.mu.Lock()
	defer an.mu.Unlock()
	entries := slices.Clone(an.strongEntries())
	if !an.listed {
		entries = append(entries, an.dataPointers()...)
	}
	return &lister{an, sortKeys(entries), wanted}
}

// chunkSize is how many entries make a piece of work: some milliseconds.
const chunkSize = 512

// chunks starts the work and returns where its outcomes come, in order of address.
func (l *lister) chunks() []chan []listedRow {
	out := make([]chan []listedRow, (len(l.entries)+chunkSize-1)/chunkSize)
	work := make(chan int)
	for i := range out {
		out[i] = make(chan []listedRow, 1)
	}
	for range runtime.GOMAXPROCS(0) {
		go func() {
			w := worker{an: l.an.fork(), lister: l}
			w.an.soon = w.soon
			for i := range work {
				out[i] <- w.list(i*chunkSize, min((i+1)*chunkSize, len(l.entries)))
				close(out[i])
			}
		}()
	}
	go func() {
		for i := range out {
			work <- i
		}
		close(work)
	}()
	return out
}

// fork is an analysis of the same image for another goroutine. The lists of entries
// have been made.
func (an *analysis) fork() *analysis {
	f := newAnalysis(an.src, an.img)
	f.strong, f.data, f.singles, f.tables, f.listed = an.strong, an.data, an.singles, an.tables, an.listed
	f.global, f.hasGlobal, f.literals = an.global, an.hasGlobal, an.literals
	for _, once := range []*sync.Once{&f.strongOnce, &f.dataOnce} {
		once.Do(func() {})
	}
	return f
}

// worker lists rows on one core.
type worker struct {
	*lister
	an     *analysis
	chunk  span
	rows   []listedRow
	rest   []span // of the bytes at hand, those without a row
	next   []span
	of     *sketch // that packed is of
	packed []packedFrame
	rule   unwind.Rule
}

// packedFrame is the rule of a frame.
type packedFrame struct {
	rule  packed.Rule
	known bool // what follows is
	has   bool // there is one
	packs bool // and rule says it
}

// span is lo ≤ address < hi.
type span struct{ lo, hi uint64 }

// list lists the rows behind the entries from i up to n.
func (w *worker) list(i, n int) []listedRow {
	w.rows = make([]listedRow, 0, cap(w.rows)) // chunks are alike
	w.chunk.lo, _ = w.an.unkey(w.entries[i])
	w.chunk.hi, _ = w.an.unkey(w.entries[n-1])
	clear(w.an.sketches)
	for ; i < n; i++ {
		lo, mode := w.an.unkey(w.entries[i])
		s, ok := w.an.img.Segment(lo)
		if !ok {
			continue
		}
		hi := s.Addr + uint64(len(s.Data))
		if i+1 < len(w.entries) {
			next, _ := w.an.unkey(w.entries[i+1])
			hi = min(hi, next)
		}
		if lo < hi && (w.wanted == nil || w.wanted(lo, hi)) {
			w.between(lo, hi, mode)
		}
	}
	slices.SortFunc(w.rows, func(a, b listedRow) int { return int(min(max(int64(a.lo-b.lo), -1), 1)) })
	return w.rows
}

// soon tells whether a function belongs to the chunk and is wanted: most calls go to one
// near by, and what its sketch tells needs no search.
func (w *worker) soon(entry uint64) bool {
	return w.chunk.lo <= entry && entry <= w.chunk.hi && (w.wanted == nil || w.wanted(entry, entry+1))
}

// between lists what proven finds from lo up to hi, where no entry lies between.
func (w *worker) between(lo, hi uint64, mode cpu.Mode) {
	w.rest = append(w.rest[:0], span{lo, hi})
	w.from(w.an.below(w.an.strongEntries(), lo, mode, near), mode, false)
	w.from(w.an.pointed(lo, mode), mode, true)
}

// from takes from the sketches of some entries what the ones before do not have.
func (w *worker) from(entries []uint64, mode cpu.Mode, pointers bool) {
	for _, e := range entries {
		if w.padded() {
			return
		}
		if s := w.an.sketch(e, mode); s != nil && s.end() > w.rest[0].lo && (!pointers || w.an.begins(e, mode)) {
			w.take(s, mode)
		}
	}
}

// padded tells whether no more is left than what fills up the space between functions.
func (w *worker) padded() bool {
	const padding = 15
	return len(w.rest) == 0 || len(w.rest) == 1 && w.rest[0].hi-w.rest[0].lo <= padding
}

// take adds the rows of a sketch for what has none.
func (w *worker) take(s *sketch, mode cpu.Mode) {
	w.next = w.next[:0]
	for _, r := range w.rest {
		at, row := r.lo, s.row(uint32(max(r.lo, s.entry)-s.entry))
		for i := s.behind(r.lo); i < len(s.code) && s.entry+uint64(s.code[i].start) < r.hi; i++ {
			lo, hi := max(at, s.entry+uint64(s.code[i].start)), min(r.hi, s.entry+uint64(s.code[i].end))
			if at < lo {
				w.next = append(w.next, span{at, lo})
			}
			row = w.cut(s, row, lo, hi, mode)
			at = hi
		}
		if at < r.hi {
			w.next = append(w.next, span{at, r.hi})
		}
	}
	w.rest, w.next = w.next, w.rest
}

// cut adds the rows of a sketch from lo up to hi. i is the index of one at lo or before
// it; the last of them is returned.
func (w *worker) cut(s *sketch, i int, lo, hi uint64, mode cpu.Mode) int {
	for {
		end := ^uint64(0)
		if i+1 < len(s.rows) {
			end = s.entry + uint64(s.rows[i+1].at)
		}
		if lo < end {
			w.add(s, s.rows[i].frame, lo, min(end, hi), mode)
			lo = end
		}
		if end >= hi {
			return i
		}
		i++
	}
}

// add adds a row, or makes the one before longer.
func (w *worker) add(s *sketch, frame uint32, lo, hi uint64, mode cpu.Mode) {
	p := w.pack(s, frame)
	if !p.has {
		return
	}
	rule := packed.Row{Rule: p.rule, Packs: p.packs, Flags: sketchFlags, Start: s.entry}
	if n := len(w.rows); n > 0 && w.rows[n-1].hi == lo && w.rows[n-1].rule == rule {
		w.rows[n-1].hi = hi
		return
	}
	w.rows = append(w.rows, listedRow{lo, hi, mode, rule})
}

// pack finds the rule of a sketch's frame.
func (w *worker) pack(s *sketch, frame uint32) *packedFrame {
	if w.of != s {
		w.of, w.packed = s, append(w.packed[:0], make([]packedFrame, len(s.frames))...)
	}
	p := &w.packed[frame]
	if !p.known {
		p.known = true
		if p.has = s.rule(&s.frames[frame], w.an.arch, &w.rule); p.has {
			p.rule, p.packs = packed.Of(w.an.arch, &w.rule)
		}
	}
	return p
}
