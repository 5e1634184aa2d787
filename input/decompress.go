package input

import (
	"bytes"
	"io"

	"github.com/backsight/backsight/internal/budget"
)

// compression is a form of compressed streams, which begin with magic.
type compression struct {
	magic string
	open  func(head []byte, r io.Reader) (z io.Reader, release func() error, err error)
}

// decompressor returns a reader for the decompressed stream where head begins a
// known compression, nil where it does not.
func decompressor(head []byte, r io.Reader) (z io.Reader, release func() error, err error) {
	for _, c := range compressions() {
		if bytes.HasPrefix(head, []byte(c.magic)) {
			return c.open(head, r)
		}
	}
	return nil, nil, nil
}

// What a compressed capture may become, of all bytes, and of those that take disk. A
// core is zeros for the most part, which shrink to a thousandth in gzip and to almost
// nothing in zstd, and data, which shrink to a third, sometimes to a fiftieth. Below the
// floors the captures of common programs have their place whatever they shrink to.
const (
	unpackedFloor, unpackedPerByte = 4 << 30, 1 << 10
	storedFloor, storedPerByte     = 1 << 30, 64
)

// counted counts the compressed bytes that were read.
type counted struct {
	r io.Reader
	n uint64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += uint64(max(n, 0))
	return n, err
}

// allowance is a budget that grows with the compressed bytes that were read. nil is
// without bound: what is not compressed costs its sender as much.
type allowance struct {
	budget.Budget
	packed  *counted
	perByte uint64
	seen    uint64 // of packed
}

func newAllowance(unit string, floor, perByte uint64, packed *counted) *allowance {
	if packed == nil {
		return nil
	}
	return &allowance{Budget: budget.New(unit, floor, 0), packed: packed, perByte: perByte}
}

// draw takes n bytes, or says why there may be no more.
func (a *allowance) draw(n int) error {
	if a == nil {
		return nil
	}
	a.Add(a.perByte * (a.packed.n - a.seen))
	a.seen = a.packed.n
	a.Draw(n)
	return a.Err()
}

// unpacked reads decompressed bytes within their allowance.
type unpacked struct {
	z io.Reader
	*allowance
}

func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	if over := u.draw(n); over != nil {
		return 0, over
	}
	return n, err
}
