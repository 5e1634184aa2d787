package elf

import (
	"io"
	"sync"

	"github.com/backsight/backsight/internal/inflate"
)

// streams are the compressed sections that are read bit by bit: of the debug
// sections of a library a backtrace needs a few units, and to decompress the rest
// takes longer than everything else (libc's .debug_info: 5.8 MB).
type streams struct {
	mu     sync.Mutex
	byName map[string]*stream
}

// stream is a section that is decompressed as parts of it are asked for. Its
// checksum, which covers the whole, is not looked at.
type stream struct {
	mu    sync.Mutex
	size  uint64          // what the section has in all
	z     *inflate.Reader // nil of a section that is read as a whole
	trail trail           // of z
	from  uint64          // where data begins; z is at its end
	data  []byte
	ended bool   // z has no more
	lost  uint64 // bytes that were decompressed before z began anew
}

// SectionPart is what image.Sections.Part asks. A step backwards in a stream has it decompressed anew, until that has cost as much as
// the whole section, which is kept then.
func (c *container) SectionPart(name string, off, n uint64) []byte {
	s := c.stream(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if off < s.from && s.z != nil {
		s.back()
	}
	if s.z == nil {
		whole, _ := c.img.Sections.Named(name)
		return whole.Part(off, n)
	}
	return s.part(off, n)
}

// back goes back to the beginning of a stream.
func (s *stream) back() {
	const atOnce = 1 << 17 // what a reader decompresses at least
	s.lost += s.from + uint64(len(s.data)) + atOnce
	s.from, s.data, s.ended = 0, nil, false
	if s.lost >= s.size {
		s.z = nil
		return
	}
	s.z.Reset(s.trail.packed)
	s.trail.left = 0
}

// SectionSize is what image.Sections.Size asks.
func (c *container) SectionSize(name string) uint64 {
	if n := c.main.sectionSize(name); n > 0 {
		return n
	}
	if d := c.debugFile(); d != nil {
		return d.sectionSize(name)
	}
	return 0
}

func (f *file) sectionSize(name string) uint64 {
	h, ok := f.sections.find(name)
	if !ok {
		s, _ := f.oldCompressed(name)
		return uint64(len(s.Data))
	}
	data := f.sections.bytes(h)
	if h.flags&shfCompressed == 0 {
		return uint64(len(data))
	}
	_, size, packed, ok := f.chdr(data)
	if !ok || !credible(size, len(packed)) {
		return 0
	}
	return size
}

// stream is the one of a section, which may be of the debug file.
func (c *container) stream(name string) *stream {
	c.streams.mu.Lock()
	defer c.streams.mu.Unlock()
	s, ok := c.streams.byName[name]
	if !ok {
		if c.streams.byName == nil {
			c.streams.byName = make(map[string]*stream)
		}
		s = c.openStream(name)
		c.streams.byName[name] = s
	}
	return s
}

func (c *container) openStream(name string) *stream {
	if _, ok := c.main.sections.find(name); ok {
		return c.main.stream(name)
	}
	if d := c.debugFile(); d != nil {
		return d.stream(name)
	}
	return &stream{}
}

func (f *file) stream(name string) *stream {
	h, ok := f.sections.find(name)
	if !ok || h.flags&shfCompressed == 0 {
		return &stream{}
	}
	typ, size, packed, ok := f.chdr(f.sections.bytes(h))
	if !ok || typ != elfcompressZlib || !credible(size, len(packed)) || !f.expansion.draw(size) {
		return &stream{}
	}
	deflated, ok := deflatedIn(packed)
	if !ok {
		return &stream{}
	}
	return &stream{size: size, z: inflate.NewReader(deflated), trail: trail{in: f.in, packed: deflated}}
}

// part decompresses up to off+n, or to where the stream ends or is damaged. What was
// handed out before stays as it is.
func (s *stream) part(off, n uint64) []byte {
	off = min(off, s.size)
	n = min(n, s.size-off)
	have := s.from + uint64(len(s.data))
	if off > have {
		if skipped := s.skip(off - have); skipped < off-have {
			s.from, s.data, s.ended = have+skipped, nil, true
			return nil
		}
		have, s.data = off, nil
	} else {
		s.data = s.data[off-s.from:]
	}
	s.from = off
	const least = 1 << 20 // memory grows with what comes out, and doubles: each byte is copied once or twice
	for !s.ended && uint64(len(s.data)) < n {
		old := len(s.data)
		more := min(n-uint64(old), max(least, uint64(old)))
		s.data = append(s.data[:old:old], make([]byte, more)...)
		got, err := io.ReadFull(s.z, s.data[old:])
		s.data, s.ended = s.data[:old+got], err != nil
		s.trail.to(s.z.Used())
	}
	return s.data[:min(n, uint64(len(s.data)))]
}

// skip decompresses n bytes that nobody wants, or up to the end or damage, and returns how many
// these are.
func (s *stream) skip(n uint64) (skipped uint64) {
	for skipped < n {
		got := s.z.Skip(min(n-skipped, trailed))
		if got == 0 {
			break
		}
		skipped += got
		s.trail.to(s.z.Used())
	}
	return skipped
}
