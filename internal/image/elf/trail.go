package elf

import (
	"io"

	"github.com/backsight/backsight/image"
)

// trail is what was decompressed of a part of a file. It was read once and will not be again, so
// that its pages need no memory: two thirds of libc's debug file, 2 MB of the 20 that a
// backtrace of a core of 1.2 GB takes in all.
type trail struct {
	in     *image.File
	packed []byte // a part of in
	left   int    // so much of packed was forgotten
}

// trailed is how much of a trail stays: what the system brings at once.
const trailed = 64 << 10

// to forgets what was read before byte n of the part.
func (t *trail) to(n int) {
	if n = min(n, len(t.packed)); n-t.left >= trailed {
		t.in.Forget(t.packed[t.left:n])
		t.left = n
	}
}

// passing is a reader of what a part of a file decompresses to, which forgets the part.
type passing struct {
	io.Reader
	used func() int // bytes of the part that were read
	trail
}

// Read implements io.Reader.
func (p *passing) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	p.to(p.used())
	return n, err
}
