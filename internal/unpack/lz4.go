package unpack

import (
	"errors"
	"io"

	"github.com/backsight/backsight/internal/bin"
)

// lz4Block is what a block of the legacy format decompresses to at most.
const lz4Block = 8 << 20

// errLZ4 is that of data that is no LZ4 block.
var errLZ4 = errors.New("damaged LZ4 data")

// unlz4 decompresses the legacy format, which the kernel uses: a magic number, and blocks
// with their compressed size before them. The last is followed by the end of the data or,
// in kernels, by the size of the kernel, which is no block.
func unlz4(packed []byte, w *sink) error {
	r := bin.New(packed, false)
	r.Skip(4)
	for r.Len() > 4 {
		n := uint64(r.U32())
		if n > uint64(r.Len()) || n > lz4Block+lz4Block/255+16 {
			break
		}
		out, err := LZ4(r.Bytes(n), min(lz4Block, w.limit-len(w.data)))
		if over := w.add(out); over != nil {
			return over
		}
		if err != nil {
			return err
		}
	}
	if len(w.data) == 0 {
		return errLZ4
	}
	return nil
}

// LZ4 decompresses one block to limit bytes at most. Of a block that is cut short, out is what comes before the cut,
// since a kernel's file that is cut short is read as far as it goes. UncompressBlock of github.com/pierrec/lz4 returns 0
// for such a block, and does not say how much of its buffer is filled (TestCutLZ4).
func LZ4(packed []byte, limit int) (out []byte, err error) {
	r := bin.New(packed, false)
	for {
		token := int(r.U8())
		n := lz4Length(&r, token>>4, limit)
		if n > limit-len(out) {
			return out, errFull
		}
		out = append(out, r.Bytes(uint64(n))...)
		if r.Err() != nil {
			return out, io.ErrUnexpectedEOF
		}
		if r.Len() == 0 {
			return out, nil // the last sequence has no match
		}
		from := len(out) - int(r.U16())
		n = lz4Length(&r, token&15, limit) + 4
		switch {
		case r.Err() != nil:
			return out, io.ErrUnexpectedEOF
		case from < 0 || from == len(out):
			return out, errLZ4
		case n > limit-len(out):
			return out, errFull
		}
		out = appendFrom(out, from, n)
	}
}

// lz4Length is a length whose first four bits are n.
func lz4Length(r *bin.Reader, n, limit int) int {
	if n < 15 {
		return n
	}
	for r.Err() == nil && n <= limit {
		b := r.U8()
		if n += int(b); b != 255 {
			break
		}
	}
	return n
}
