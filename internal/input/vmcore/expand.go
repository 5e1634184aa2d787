package vmcore

import (
	"bytes"
	"fmt"
	"io"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/backsight/backsight/internal/unpack"
)

// Kinds of compression (DUMP_DH_COMPRESSED_…).
const (
	byZlib   = 0x1
	byLZO    = 0x2
	bySnappy = 0x4
	byZstd   = 0x20
)

// expander decompresses pages, one at a time. What a decompressor allocates is many times as large as a
// page, and is kept from one page to the next.
type expander struct {
	zlib io.ReadCloser // a zlib.Resetter
	zstd *zstd.Decoder
}

// page decompresses a page of at most n bytes. flags say how it was compressed.
func (e *expander) page(packed []byte, flags uint32, n int) ([]byte, error) {
	switch {
	case flags&byZlib != 0:
		return e.inflate(packed, n)
	case flags&byLZO != 0:
		return unpack.LZO(packed, n)
	case flags&bySnappy != 0:
		switch size, err := snappy.DecodedLen(packed); {
		case err != nil:
			return nil, fmt.Errorf("snappy: %w", err)
		case size > n:
			return nil, fmt.Errorf("snappy: %d bytes in a page of %d", size, n)
		}
		return snappy.Decode(nil, packed)
	case flags&byZstd != 0:
		return e.unzstd(packed, n)
	}
	return packed[:min(len(packed), n)], nil
}

func (e *expander) inflate(packed []byte, n int) (b []byte, err error) {
	if e.zlib == nil {
		e.zlib, err = zlib.NewReader(bytes.NewReader(packed))
	} else {
		err = e.zlib.(zlib.Resetter).Reset(bytes.NewReader(packed), nil)
	}
	if err != nil {
		return nil, err
	}
	b = make([]byte, n)
	m, err := io.ReadFull(e.zlib, b)
	if err == io.ErrUnexpectedEOF || err == io.EOF { // a page of fewer bytes
		err = nil
	}
	return b[:m], err
}

func (e *expander) unzstd(packed []byte, n int) (b []byte, err error) {
	if e.zstd == nil {
		e.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	}
	if err == nil {
		err = e.zstd.Reset(bytes.NewReader(packed))
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(e.zstd, int64(n)))
}
