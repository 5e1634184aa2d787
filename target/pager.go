package target

import (
	"reflect"
	"sync"
)

// Pager reads memory on demand: of a live process, over a wire, of a machine's physical
// memory. The pages that were read are kept, a bounded number of them.
type Pager interface {
	// ReadPage reads into page the bytes from target address addr on, PageSize at most,
	// and returns how many there are without a gap. Where these are fewer than asked
	// for, err may say why. Calls for one range come one at a time.
	ReadPage(addr uint64, page []byte) (n int, err error)
}

// PageSize is the unit in which a Pager reads; pages are aligned to it except where a
// range begins or ends.
const PageSize = 4096

// maxPages bounds the pages kept of one Pager: 4 MiB, more than the stacks of a backtrace
// touch.
const maxPages = 1024

// pages are those of one range. Ranges of one Pager that are added one after the other share the pages kept: a dump
// has a range for each gap in its memory, some hundred thousand at times.
type pages struct {
	whole Range
	*keptPages
}

// keptPages are pages that were read. A page that could be read in part, or not at
// all, is kept as well, shorter than others, so that the source is not asked for it again.
type keptPages struct {
	source Pager

	mu   sync.Mutex
	kept map[uint64][]byte // by the address of the first byte
	// order has the keys of kept in order of arrival, from next on when it is full: the
	// oldest makes room.
	order []uint64
	next  int
	err   error // the first
	// passed is the last page that was not kept. It lies here, because what a Pager is given would be allocated for each read.
	passed []byte
}

// of tells whether these are the pages of a Pager.
func (k *keptPages) of(p Pager) bool {
	return k != nil && reflect.ValueOf(p).Comparable() && k.source == p
}

// passing is how many bytes are read at once at least by who searches through memory: no page of these is kept.
const passing = 16 * PageSize

// read copies what there is without a gap from addr on, which lies in the range.
func (p *pages) read(addr uint64, dst []byte) (n int) {
	for n < len(dst) {
		at := addr + uint64(n)
		if len(dst)-n >= passing && at%PageSize == 0 && p.whole.Contains(at+PageSize-1) {
			got := p.pass(at, dst[n:][:PageSize])
			if n += got; got < PageSize {
				break
			}
			continue
		}
		b := p.from(at, p.whole.Hi)
		if len(b) == 0 {
			break
		}
		n += copy(dst[n:], b)
	}
	return n
}

// pass reads the page that begins at lo, and keeps nothing.
func (p *pages) pass(lo uint64, page []byte) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b, ok := p.kept[lo]; ok {
		return copy(page, b)
	}
	if p.passed == nil {
		p.passed = make([]byte, PageSize)
	}
	n, err := p.source.ReadPage(lo, p.passed)
	if p.err == nil {
		p.err = err
	}
	return copy(page, p.passed[:min(max(n, 0), PageSize)])
}

// from is the rest of the page that holds addr, below end; empty where addr cannot be
// read or is not below end.
func (p *pages) from(addr, end uint64) []byte {
	if !p.whole.Contains(addr) || addr >= end {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	lo := max(addr&^(PageSize-1), p.whole.Lo)
	b, ok := p.kept[lo]
	if !ok {
		b = p.fetch(lo)
	}
	b = b[min(addr-lo, uint64(len(b))):]
	return b[:min(uint64(len(b)), end-addr)]
}

// fetch reads the page that begins at lo and keeps it.
func (p *pages) fetch(lo uint64) []byte {
	b := make([]byte, min(PageSize-lo%PageSize, p.whole.Hi-lo))
	n, err := p.source.ReadPage(lo, b)
	if b = b[:min(max(n, 0), len(b))]; p.err == nil {
		p.err = err
	}
	if len(p.order) < maxPages {
		p.order = append(p.order, lo)
	} else {
		delete(p.kept, p.order[p.next])
		p.order[p.next] = lo
		p.next = (p.next + 1) % maxPages
	}
	if p.kept == nil {
		p.kept = make(map[uint64][]byte)
	}
	p.kept[lo] = b
	return b
}

func (p *pages) failure() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}
