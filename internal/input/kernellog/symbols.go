package kernellog

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// symbols finds the functions that a log names in its binaries. A list of tasks names the same
// few again and again.
type symbols struct {
	known map[symbolKey]symbolAt
	scans int
}

type symbolKey struct {
	img  *image.Image
	name string
	size uint64
}

// symbolAt is where a function begins, an image address.
type symbolAt struct {
	addr  uint64
	found bool
}

const (
	// maxKnown bounds the functions that are kept.
	maxKnown = 1 << 16
	// maxScans bounds the passes through all functions of an image, for those of which one of
	// another size has the name too.
	maxScans = 256
)

// addressOf is the image address of a place, by its symbol. Static functions of one name are
// told apart by their sizes, which kernels print; a function of another size is that of another
// build. To a kernel the last function of a section ends where the next section's first symbol is:
// no_ret_outer+0x18/0x180 is in a function of 24 bytes.
func (s *symbols) addressOf(img *image.Image, p *place) (addr uint64, ok bool) {
	key := symbolKey{img, p.symbol, p.size}
	at, known := s.known[key]
	if !known {
		at = s.find(img, p)
		if len(s.known) < maxKnown {
			s.known[key] = at
		}
	}
	return at.addr + p.offset, at.found
}

func (s *symbols) find(img *image.Image, p *place) symbolAt {
	named, ok := img.Symbols.Named(p.symbol)
	switch {
	case !ok:
		return symbolAt{}
	case fits(&named, p):
		return symbolAt{named.Addr, true}
	case s.scans >= maxScans:
		return symbolAt{}
	}
	s.scans++
	var at symbolAt
	last := named.Size != 0 && p.size > named.Size // no function begins where p says that named still goes on
	img.Symbols.Functions(func(addr uint64, _ cpu.Mode, size uint64) bool {
		last = last && addr-named.Addr-named.Size >= p.size-named.Size
		if !fits(&image.Symbol{Size: size}, p) {
			return true
		}
		if other, found := img.Symbols.At(addr); found && other.Name == p.symbol && other.Addr == addr {
			at = symbolAt{addr, true}
		}
		return !at.found
	})
	if !at.found && last {
		return symbolAt{named.Addr, true}
	}
	return at
}

// maxFiller bounds the bytes between functions: a kernel's size of a function is the distance
// to the next symbol, an ELF symbol's is without the filler.
const maxFiller = 64

// fits tells whether a symbol may be the function of a place.
func fits(s *image.Symbol, p *place) bool {
	return s.Size == 0 || p.size == 0 || p.size >= s.Size && p.size < s.Size+maxFiller
}
