package input

import (
	"context"
	"io"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/target"
)

// Pages are a capture's bytes, of which parts are looked at: nothing of what is mapped or in memory is copied, and of another file
// the parts are read that are asked for.
type Pages struct {
	name   string
	data   []byte
	file   io.ReaderAt // instead of data
	size   uint64
	forget func() // nil: data is in memory
}

// PagesOf are bytes in memory.
func PagesOf(data []byte) Pages { return Pages{data: data, size: uint64(len(data))} }

// Pages returns the whole capture, as Bytes does, for a format that looks at parts of it.
func (c *Capture) Pages(ctx context.Context) (Pages, error) {
	err := c.store()
	switch ended := ctx.Err(); {
	case ended != nil:
		return Pages{}, &Error{Path: c.Name, Offset: -1, Reason: "not read", Err: ended}
	case c.ReaderAt() != nil:
		return Pages{}, &Error{Path: c.Name, Offset: -1, Reason: "cannot be mapped"}
	case c.parts.file != nil:
		return Pages{name: c.Name, file: c.parts.file, size: c.parts.size}, err
	}
	c.give(ctx)
	p := PagesOf(c.Data)
	p.forget = c.Forget
	return p, err
}

// Forget gives back the memory of what was looked at so far, where the capture is mapped.
func (p *Pages) Forget() {
	if p.forget != nil {
		p.forget()
	}
}

// Size is how many bytes there are.
func (p *Pages) Size() uint64 { return p.size }

// Held is how many of n bytes from an offset on there are.
func (p *Pages) Held(off, n uint64) uint64 {
	if off >= p.size {
		return 0
	}
	return min(n, p.size-off)
}

// Bytes are n bytes from an offset on, fewer where the capture ends or cannot be read. Do not change them. All of what is
// returned is in memory: what is large is added as memory (Add).
func (p *Pages) Bytes(off, n uint64) []byte {
	if n = p.Held(off, n); n == 0 {
		return nil
	}
	if p.file == nil {
		return p.data[off : off+n]
	}
	b := make([]byte, bin.Limit(n, maxWhole))
	got, _ := p.file.ReadAt(b, int64(off))
	return b[:max(got, 0)]
}

// Add adds n bytes from an offset on to b, as memory at an address, as many of them as there are; that is their number.
func (p *Pages) Add(b *target.Builder, addr, off, n uint64, perm target.Perm) uint64 {
	switch n = p.Held(off, n); {
	case n == 0:
	case p.file == nil:
		b.Add(addr, p.data[off:off+n], 0, perm)
	default:
		b.AddPaged(addr, n, memoryAt{p.name, p.file, off - addr}, perm)
	}
	return n
}

// memoryAt is memory that lies in a file.
type memoryAt struct {
	name  string
	file  io.ReaderAt
	delta uint64 // from the address to the file's offset
}

// ReadPage implements target.Pager.
func (m memoryAt) ReadPage(addr uint64, page []byte) (int, error) {
	n, err := m.file.ReadAt(page, int64(addr+m.delta))
	if n == len(page) || err == nil {
		return n, nil
	}
	return n, &Error{Path: m.name, Offset: int64(addr + m.delta), Reason: "cannot be read", Err: err}
}
