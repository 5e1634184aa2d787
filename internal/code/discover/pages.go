package discover

import (
	"math/bits"

	"github.com/backsight/backsight/internal/code/disasm"
)

// pageSize is how many bytes of code have their entries found together: some functions.
const pageSize = 1 << 12

// pages numbers the pages of an image's code, in the order of their addresses.
type pages struct {
	runs []pageRun
	n    int
}

// pageRun is an executable segment, whose pages have the numbers from first on.
type pageRun struct {
	lo, size uint64
	first    int
}

func pagesOf(code disasm.Code) (p pages) {
	code.Text(func(addr uint64, text []byte) {
		if n := len(text); n > 0 {
			p.runs = append(p.runs, pageRun{addr, uint64(n), p.n})
			p.n += (n + pageSize - 1) / pageSize
		}
	})
	return p
}

// index is the number of the page that has an address or, where no code is, of the next one; and
// whether code is there.
func (p *pages) index(pc uint64) (i int, has bool) {
	for i := range p.runs[:min(len(p.runs), fewRuns)] {
		if r := &p.runs[i]; pc-r.lo < r.size {
			return r.first + int((pc-r.lo)/pageSize), true
		}
	}
	return p.search(pc)
}

// fewRuns is how many executable segments most images have at most.
const fewRuns = 2

func (p *pages) search(pc uint64) (i int, has bool) {
	lo, hi := 0, len(p.runs)
	for lo < hi { // the first run that ends above pc
		if mid := (lo + hi) / 2; pc >= p.runs[mid].lo && pc-p.runs[mid].lo >= p.runs[mid].size {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	switch {
	case lo == len(p.runs):
		return p.n, false
	case pc < p.runs[lo].lo:
		return p.runs[lo].first, false
	}
	return p.runs[lo].first + int((pc-p.runs[lo].lo)/pageSize), true
}

// start is the address of the page with a number.
func (p *pages) start(i int) uint64 {
	run := len(p.runs) - 1
	for p.runs[run].first > i {
		run--
	}
	return p.runs[run].lo + uint64(i-p.runs[run].first)*pageSize
}

// pageSet is a set of places in a page, by their keys less the page's address.
type pageSet [pageSize / 64]uint64

func (s *pageSet) add(off uint64)      { s[off/64] |= 1 << (off % 64) }
func (s *pageSet) has(off uint64) bool { return s[off/64]>>(off%64)&1 != 0 }

// keys are those of the set that are not in o, for the page at an address.
func (s *pageSet) keys(start uint64, o *pageSet) keys {
	n := 0
	for i := range s {
		n += bits.OnesCount64(s[i] &^ o[i])
	}
	if n == 0 {
		return nil
	}
	list := make(keys, 0, n)
	for i := range s {
		for word := s[i] &^ o[i]; word != 0; word &= word - 1 {
			list = append(list, start+uint64(i*64+bits.TrailingZeros64(word)))
		}
	}
	return list
}
