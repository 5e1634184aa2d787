package elf

import (
	"bytes"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
)

// prefixes are the compressed sections that are read bit by bit: of the debug
// sections of a library a backtrace needs a few units, and to decompress the rest
// takes longer than everything else (libc's .debug_info: 5.8 MB).
type prefixes struct {
	mu     sync.Mutex
	byName map[string]*prefix
}

// prefix is a section as far as it was decompressed. Its checksum, which covers the
// whole, is not looked at.
type prefix struct {
	data   []byte
	size   uint64    // what the section has in all
	stream io.Reader // what follows data, nil at the end
}

// SectionUpTo implements image.Prefixer.
func (c *container) SectionUpTo(name string, n uint64) []byte {
	c.prefixes.mu.Lock()
	defer c.prefixes.mu.Unlock()
	p, ok := c.prefixes.byName[name]
	if !ok {
		p = c.prefix(name)
		if c.prefixes.byName == nil {
			c.prefixes.byName = make(map[string]*prefix)
		}
		c.prefixes.byName[name] = p
	}
	return p.upTo(n)
}

// prefix opens a section. One that is not a stream of zlib is there whole.
func (c *container) prefix(name string) *prefix {
	if p := c.main.stream(name); p != nil {
		return p
	}
	if _, ok := c.main.findShdr(name); !ok {
		if d := c.debugFile(); d != nil {
			if p := d.stream(name); p != nil {
				return p
			}
		}
	}
	s, _ := c.img.Section(name)
	return &prefix{data: s.Data}
}

// stream opens a section that zlib compressed, nil if it is not such.
func (f *file) stream(name string) *prefix {
	s, ok := f.findShdr(name)
	if !ok || s.flags&shfCompressed == 0 {
		return nil
	}
	typ, size, packed, ok := f.chdr(f.sectionBytes(s))
	if !ok || typ != elfcompressZlib || !credible(size, len(packed)) {
		return nil
	}
	z, err := zlib.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil
	}
	return &prefix{data: make([]byte, 0, min(size, 4*uint64(len(packed)))), size: size, stream: z}
}

// upTo decompresses n bytes in all, or up to where the stream is damaged.
func (p *prefix) upTo(n uint64) []byte {
	for n = min(n, p.size); p.stream != nil && uint64(len(p.data)) < n; {
		if len(p.data) == cap(p.data) { // memory grows with what comes out
			p.data = append(make([]byte, 0, min(p.size, 2*uint64(cap(p.data))+1)), p.data...)
		}
		got, err := io.ReadFull(p.stream, p.data[len(p.data):min(n, uint64(cap(p.data)))])
		if p.data = p.data[:len(p.data)+got]; err != nil || uint64(len(p.data)) == p.size {
			p.stream = nil
		}
	}
	return p.data
}
