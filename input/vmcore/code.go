package vmcore

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

const (
	// maxCode bounds how far before its data a kernel's code begins: the largest kernels are of
	// some 40 MB.
	maxCode = 64 << 20
	// oftenCalled is from how many calls on a target is taken for a function. Of what reads as a
	// call by chance, hardly two go to one place.
	oftenCalled = 3
	// callsPerPage is how many calls of such functions a page of code has at least, for the most part.
	callsPerPage = 2
)

// codeBefore finds the code of a kernel, which is linked before its data: the pages from which direct
// calls go to functions that others call, too. It is empty where there are none.
func codeBefore(physical *target.Memory, a *cpu.Arch, k identity) (text target.Range) {
	lo := k.at - min(k.at, maxCode)
	whole := physical.RangeAt(k.at)
	lo = (max(lo, whole.Lo) + pageSize - 1) &^ (pageSize - 1)
	if lo >= k.at {
		return text
	}
	code := bytesAt(physical, lo, int(k.at-lo))
	start := (lo + k.offset) & a.AddrMask()
	most := 0
	for mode := range cpu.Mode(2) {
		first, end, pages := densest(callers(a, code, start, mode))
		if pages > most {
			most = pages
			text = target.Range{Lo: start + first*pageSize, Hi: start + end*pageSize}
		}
	}
	return text
}

// callers counts for each page of bytes at an address the direct calls of functions that are
// called often.
func callers(a *cpu.Arch, code []byte, start uint64, mode cpu.Mode) (pages []int) {
	calls := a.Decoder.Calls(code, start, mode, nil)
	called := make([]uint8, len(code)/2+1)
	inside := calls[:0]
	for _, c := range calls {
		if off := c.Target - start; off < uint64(len(code)) {
			inside = append(inside, c)
			if called[off/2] < oftenCalled {
				called[off/2]++
			}
		}
	}
	pages = make([]int, len(code)/pageSize+1)
	for _, c := range inside {
		if off := c.Site - start; off < uint64(len(code)) && called[(c.Target-start)/2] == oftenCalled {
			pages[off/pageSize]++
		}
	}
	return pages
}

// densest is the run of pages in which most are code, and how many more than are not.
func densest(pages []int) (first, end uint64, most int) {
	sum, from := 0, 0
	for i, calls := range pages {
		if sum <= 0 {
			sum, from = 0, i
		}
		if calls >= callsPerPage {
			sum++
		} else {
			sum--
		}
		if sum > most {
			most, first, end = sum, uint64(from), uint64(i+1)
		}
	}
	return first, end, most
}
