package code

import (
	"cmp"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/packed"
)

// Rows calls yield for the code of an image that stack-height analysis covers: from lo up
// to hi the first answer of Rule is rule, in mode, in exact frames at an instruction's first
// byte and in resuming ones at the others. The rows come in order of address, until yield
// returns false. What lies between has answers that need more work, or none. wanted leaves
// out what other sources have: it reports whether any of the bytes from lo up to hi are of
// interest; nil: all are. It is called concurrently.
func (s *Source) Rows(img *image.Image, wanted func(lo, hi uint64) bool, yield func(lo, hi uint64, mode cpu.Mode, rule packed.Row) bool) {
	if img.Arch.Decoder == nil {
		return
	}
	chunks := newLister(s.of(img), wanted).chunks()
	for _, c := range chunks {
		done := <-c
		if done.panicked != nil {
			go drain(chunks)
			panic(done.panicked)
		}
		for _, r := range done.rows {
			row := r.rule.row
			row.Start = r.start
			if !yield(r.lo, r.hi, r.mode, row) {
				go drain(chunks)
				return
			}
		}
	}
}

// Entries calls yield for where functions of the image certainly begin, in order of address,
// until yield returns false.
func (s *Source) Entries(img *image.Image, yield func(addr uint64, mode cpu.Mode) bool) {
	if img.Arch.Decoder == nil {
		return
	}
	p := s.of(img)
	for _, key := range p.Entries.Certain() {
		if at := p.Addr(key); !yield(at.PC, at.Mode) {
			return
		}
	}
}

// Modes calls yield for places where functions of the image begin, certainly or because data or
// code seems to point there, in order of address, and the mode of each one's code, until yield
// returns false; none where all code is of one mode.
func (s *Source) Modes(img *image.Image, yield func(addr uint64, mode cpu.Mode) bool) {
	if img.Arch.Decoder == nil || !img.Arch.ISABit || img.Arch.ModeOnly || img.OneMode {
		return
	}
	p := s.of(img)
	for _, key := range p.Entries.Possible() {
		if at := p.Addr(key); !yield(at.PC, at.Mode) {
			return
		}
	}
}

// drain lets the workers end.
func drain(chunks []chan listed) {
	for _, c := range chunks {
		for range c {
		}
	}
}

// listedRow: from lo up to hi the rule holds, in the function that begins at start.
type listedRow struct {
	lo, hi, start uint64
	rule          *packedRule
	mode          cpu.Mode
}

// lister lists the rows between entries, a chunk of entries at a time on all cores.
type lister struct {
	prog    *program
	entries []uint64 // keys, sorted
	wanted  func(lo, hi uint64) bool
}

func newLister(p *program, wanted func(lo, hi uint64) bool) *lister {
	if wanted == nil {
		wanted = func(lo, hi uint64) bool { return true }
	}
	return &lister{p, p.Entries.Starts(), wanted}
}

// chunkSize is how many entries make a piece of work: some milliseconds.
const chunkSize = 512

// listed is what came of a piece of work.
type listed struct {
	rows []listedRow
	// panicked is what broke the work off: an access to a file that was cut short, which
	// whoever asked for the rows is prepared for (internal/mapped).
	panicked any
}

// chunks starts the work and returns where its outcomes come, in order of address.
func (l *lister) chunks() []chan listed {
	out := make([]chan listed, (len(l.entries)+chunkSize-1)/chunkSize)
	work := make(chan int)
	for i := range out {
		out[i] = make(chan listed, 1)
	}
	for range runtime.GOMAXPROCS(0) {
		go func() {
			debug.SetPanicOnFault(true)
			w := newListing(l)
			for i := range work {
				out[i] <- w.chunkOf(i*chunkSize, min((i+1)*chunkSize, len(l.entries)))
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

// listing lists rows on one core.
type listing struct {
	*lister
	heights  *heights.Tables // of this goroutine
	chunk    span
	rows     []listedRow
	unsorted bool
	rest     []span // of the bytes at hand, those without a row
	next     []span
	rules    tableRules
}

// span is lo ≤ address < hi.
type span struct{ lo, hi uint64 }

func newListing(l *lister) *listing {
	w := &listing{lister: l}
	w.heights = l.prog.Heights.Fork(w.soon)
	w.rules.arch = l.prog.Arch
	return w
}

// soon tells whether the function at an entry belongs to the chunk and is wanted. Most calls go to
// functions near by, whose tables tell without a search whether they return.
func (w *listing) soon(entry uint64) bool {
	return w.chunk.lo <= entry && entry <= w.chunk.hi && w.wanted(entry, entry+1)
}

// chunkOf is list, with the panic that broke the list off, if any.
func (w *listing) chunkOf(i, n int) (done listed) {
	defer func() { done.panicked = recover() }()
	return listed{rows: w.list(i, n)}
}

// list lists the rows behind the entries from i up to n.
func (w *listing) list(i, n int) []listedRow {
	w.rows = make([]listedRow, 0, cap(w.rows)) // chunks are alike
	w.unsorted = false
	w.chunk.lo, w.chunk.hi = w.at(i).PC, w.at(n-1).PC
	w.heights.Clear()
	for ; i < n; i++ {
		lo := w.at(i)
		s, ok := w.prog.Img.Segments.At(lo.PC)
		if !ok {
			continue
		}
		hi := s.Addr + uint64(len(s.Data))
		if i+1 < len(w.entries) {
			hi = min(hi, w.at(i+1).PC)
		}
		if lo.PC < hi && w.wanted(lo.PC, hi) {
			w.between(lo, hi)
		}
	}
	if w.unsorted {
		slices.SortFunc(w.rows, func(a, b listedRow) int { return cmp.Compare(a.lo, b.lo) })
	}
	return w.rows
}

// at is the entry with an index.
func (w *listing) at(i int) disasm.Addr { return w.prog.Addr(w.entries[i]) }

// between lists what heights.Proven finds from lo up to hi, where no entry lies between.
func (w *listing) between(lo disasm.Addr, hi uint64) {
	w.rest = append(w.rest[:0], span{lo.PC, hi})
	w.from(w.prog.Entries.Below(lo), lo.Mode, false)
	if !w.padded() {
		w.from(w.prog.Entries.PointedBelow(lo), lo.Mode, true)
	}
}

// from takes rows from the tables of some entries, for the addresses that are still without a row.
func (w *listing) from(entries []uint64, mode cpu.Mode, pointers bool) {
	for _, e := range entries {
		if w.padded() {
			return
		}
		entry := disasm.Addr{PC: e, Mode: mode}
		if t := w.heights.Of(entry); t != nil && t.End() > w.rest[0].lo && (!pointers || w.heights.Begins(entry)) {
			w.take(t, mode)
		}
	}
}

// padded tells whether no more is left than what fills up the space between functions.
func (w *listing) padded() bool {
	const padding = 15
	return len(w.rest) == 0 || len(w.rest) == 1 && w.rest[0].hi-w.rest[0].lo <= padding
}

// take adds the rows of a table for the addresses that are still without a row.
func (w *listing) take(t *heights.Table, mode cpu.Mode) {
	w.next = w.next[:0]
	for _, r := range w.rest {
		at, row := r.lo, t.RowAt(uint32(max(r.lo, t.Entry)-t.Entry))
		for i := t.RangeBehind(r.lo); i < len(t.Code) && t.Entry+uint64(t.Code[i].Start) < r.hi; i++ {
			lo, hi := max(at, t.Entry+uint64(t.Code[i].Start)), min(r.hi, t.Entry+uint64(t.Code[i].End))
			if at < lo {
				w.next = append(w.next, span{at, lo})
			}
			row = w.cut(t, row, span{lo, hi}, mode)
			at = hi
		}
		if at < r.hi {
			w.next = append(w.next, span{at, r.hi})
		}
	}
	w.rest, w.next = w.next, w.rest
}

// cut adds the rows of a table within a span. i is the index of a row at the start of the span or
// before; the index of the last row within the span is returned.
func (w *listing) cut(t *heights.Table, i int, of span, mode cpu.Mode) int {
	for {
		end := ^uint64(0)
		if i+1 < len(t.Rows) {
			end = t.Entry + uint64(t.Rows[i+1].At)
		}
		if of.lo < end {
			w.add(t, t.Rows[i].Heights, span{of.lo, min(end, of.hi)}, mode)
			of.lo = end
		}
		if end >= of.hi {
			return i
		}
		i++
	}
}

// add adds a row, or makes the one before longer.
func (w *listing) add(t *heights.Table, frame uint32, of span, mode cpu.Mode) {
	rule := w.rules.of(t, frame)
	if !rule.has {
		return
	}
	if n := len(w.rows); n > 0 {
		last := &w.rows[n-1]
		if last.hi == of.lo && last.start == t.Entry && (last.rule == rule || last.rule.row == rule.row) {
			last.hi = of.hi
			return
		}
		w.unsorted = w.unsorted || of.lo < last.lo
	}
	w.rows = append(w.rows, listedRow{of.lo, of.hi, t.Entry, rule, mode})
}
