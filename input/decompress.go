package input

import (
	"bytes"
	"compress/bzip2"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"

	"github.com/backsight/backsight/internal/budget"
)

// maxWindow bounds the memory of the zstd decoder: the format's own default
// limit for --long (27), far above the 8 MiB of systemd-coredump's files.
const maxWindow = 128 << 20

// maxDictionary bounds the memory of the xz decoder: the dictionary of xz -9.
const maxDictionary = 64 << 20

// decompressor returns a reader for the decompressed stream where head begins a
// known compression (RFC 1952, RFC 8878, the .xz File Format 1.1, bzip2's "BZh", the LZ4
// Frame Format 1.6), nil where it does not.
func decompressor(head []byte, r io.Reader) (z io.Reader, release func() error, err error) {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		g, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return g, func() error { _ = g.Close(); return nil }, nil // an error of reading, which was said
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return d, func() error { d.Close(); return nil }, nil
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		x, err := xz.ReaderConfig{DictCap: maxDictionary}.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return x, noRelease, nil
	case bytes.HasPrefix(head, []byte("BZh")) && len(head) > 4 && bytes.Equal(head[4:min(10, len(head))], []byte("1AY&SY")):
		return bzip2.NewReader(r), noRelease, nil
	case bytes.HasPrefix(head, []byte{0x04, 0x22, 0x4d, 0x18}):
		return lz4.NewReader(r), noRelease, nil
	}
	return nil, nil, nil
}

func noRelease() error { return nil }

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
