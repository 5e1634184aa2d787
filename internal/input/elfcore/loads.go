package elfcore

import (
	"bytes"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/budget"
)

const (
	// maxLoads bounds how often one file may be loaded (dlmopen).
	maxLoads = 16
	// maxCompared bounds how often a mapping of a file is compared with a segment. A library has five of each.
	maxCompared = 1 << 20
)

// biases are the biases at which an image was loaded. Each mapping that may hold code, with each segment that the mapping has
// bytes of, is a candidate; the one that places most mappings of the file is a load, and what it leaves over may be another.
//
// One mapping alone does not tell. Where text ends and data begins within one page of the file, that page is mapped twice, and
// with READ_IMPLIES_EXEC (personality(2): programs that ask for an executable stack, MIPS without RIXI) all mappings are
// executable:
//
//	08048000-080e7000  offset 0       text      at its place
//	080e7000-080ea000  offset 9e000   data      or the end of a text that is loaded a page further on
//	080ea000-080ec000  offset a1000   data      not if so
func (s *space) biases(m *mapping, img *image.Image) (list []uint64) {
	parts, work := slices.Clone(m.parts), budget.New("comparisons", maxCompared, 0)
	for len(list) < maxLoads {
		l := loads{s, img, parts, false, &work}
		bias, ok := l.best()
		if !ok && len(list) == 0 {
			l.moved = true
			bias, ok = l.best()
		}
		if !ok {
			break
		}
		list = append(list, bias)
		parts = slices.DeleteFunc(parts, func(f fileMapping) bool { return l.places(f, bias) })
	}
	return list
}

// loads are the mappings of a file that no load of its image places yet.
type loads struct {
	space *space
	img   *image.Image
	parts []fileMapping
	moved bool // the code may be in other memory between the mappings
	work  *budget.Budget
}

// best is the bias that places most mappings; of several by executable segments first.
func (l *loads) best() (bias uint64, ok bool) {
	most, exec := 0, false
	for _, f := range l.parts {
		code, unknown := l.space.executable(f), l.space.leftOut(f)
		if !code && !unknown && !l.moved {
			continue
		}
		for i := range l.img.Segments {
			seg := &l.img.Segments[i]
			if !l.work.Draw(1) {
				return bias, ok
			}
			b := f.start - f.off - (seg.Addr - seg.FileOff)
			if !overlaps(f, seg) || l.moved && !l.reads(b) || !l.moved && !code && !seg.Exec {
				continue
			}
			if n := l.placed(b); n > most || n == most && seg.Exec && !exec {
				bias, most, exec, ok = b, n, seg.Exec, true
			}
		}
	}
	return bias, ok
}

// compared is how many bytes of a segment are compared with memory.
const compared = 4096

// reads tells whether memory has the code of the image, which is loaded at a bias.
func (l *loads) reads(bias uint64) (same bool) {
	for i := range l.img.Segments {
		seg := &l.img.Segments[i]
		if !seg.Exec || !l.work.Draw(compared) {
			continue
		}
		got := l.space.captured.Bytes((bias + seg.Addr) & l.space.arch.AddrMask())
		n := min(len(got), len(seg.Data), compared)
		if !bytes.Equal(got[:n], seg.Data[:n]) {
			return false
		}
		same = same || n > 0
	}
	return same
}

// placed counts the mappings that a bias places.
func (l *loads) placed(bias uint64) (n int) {
	for _, f := range l.parts {
		if l.work.Draw(len(l.img.Segments)) && l.places(f, bias) {
			n++
		}
	}
	return n
}

// places tells whether a mapping lies where an image that was loaded at a bias has it.
func (l *loads) places(f fileMapping, bias uint64) bool {
	for i := range l.img.Segments {
		if seg := &l.img.Segments[i]; overlaps(f, seg) && f.start-f.off == bias+seg.Addr-seg.FileOff {
			return true
		}
	}
	return false
}

// overlaps tells whether a mapping has bytes of a segment: mappings begin on a page, segments anywhere in one.
func overlaps(f fileMapping, seg *image.Segment) bool {
	return f.off < seg.FileOff+uint64(len(seg.Data)) && seg.FileOff < f.off+(f.end-f.start)
}
