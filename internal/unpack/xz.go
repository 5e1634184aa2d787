package unpack

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/ulikunitz/xz/lzma"

	"github.com/backsight/backsight/internal/bin"
)

// unxz decompresses an .xz stream block by block (The .xz File Format, §2 and §3). The
// module that decompresses the blocks' LZMA2 data knows no filters before it, which
// kernels are compressed with, so that the blocks are taken apart here.
func unxz(packed []byte, w *sink) error {
	r := bin.New(packed, false)
	r.Skip(7) // magic, null
	check := r.U8()
	r.Skip(4) // CRC32
	if check > 15 {
		return errors.New("unknown check")
	}
	for {
		look := r
		if look.U8() == 0 { // the index follows the last block
			return look.Err()
		}
		dict, filter, err := xzBlockHeader(&r)
		if err != nil {
			return err
		}
		rest := r
		data := rest.Bytes(uint64(rest.Len()))
		n, complete := lzma2Size(&r)
		if !complete {
			n = len(data)
		}
		if err := unblock(data[:n], dict, filter, w); err != nil {
			return err
		}
		r.Align(4)
		r.Skip([16]uint64{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[check])
	}
}

// unblock decompresses the LZMA2 data of one block and undoes its filter.
func unblock(data []byte, dict int, filter func([]byte), w *sink) error {
	z, err := lzma.Reader2Config{DictCap: min(dict, window(data))}.NewReader2(bytes.NewReader(data))
	if err != nil {
		return err
	}
	from := len(w.data)
	err = w.copyFrom(z)
	if filter != nil {
		filter(w.data[from:])
	}
	return err
}

const (
	filterLZMA2 = 0x21
	// maxFilters is the most that a block can have (§3.1.2).
	maxFilters = 4
)

// xzBlockHeader reads a block header (§3.1): the size of LZMA2's dictionary, and the filter
// before LZMA2, nil where there is none.
func xzBlockHeader(r *bin.Reader) (dict int, filter func([]byte), err error) {
	size := (uint64(r.U8()) + 1) * 4
	h := bin.New(r.Bytes(size-1), false)
	flags := h.U8()
	for _, has := range []bool{flags&0x40 != 0, flags&0x80 != 0} { // sizes
		if has {
			h.ULEB()
		}
	}
	for range min(int(flags&3)+1, maxFilters) {
		id, n := h.ULEB(), h.ULEB()
		props := h.Bytes(n)
		switch {
		case h.Err() != nil:
			return 0, nil, h.Err()
		case id == filterLZMA2 && len(props) == 1 && props[0] <= 40:
			bits := props[0]
			return int(min(uint64(2|bits&1)<<(bits/2+11), 1<<30)), filter, nil
		case filter != nil || branchFilter(id) == nil:
			return 0, nil, fmt.Errorf("filter %#x is not known", id)
		}
		filter = branchFilter(id)
	}
	return 0, nil, errors.New("a block without LZMA2")
}

// lzma2Size goes through the chunks of LZMA2 data to their end, and returns their size: a
// control byte, the uncompressed size, the compressed size, sometimes a byte of
// properties, the data.
func lzma2Size(r *bin.Reader) (size int, complete bool) {
	be16 := func() uint64 { return uint64(r.U8())<<8 | uint64(r.U8()) }
	start := r.Offset()
	for r.Err() == nil {
		control := r.U8()
		switch {
		case control == 0:
			return r.Offset() - start, r.Err() == nil
		case control < 0x80: // stored
			r.Skip(be16() + 1)
		default:
			r.Skip(2)
			n := be16() + 1
			if control >= 0xc0 {
				r.Skip(1)
			}
			r.Skip(n)
		}
	}
	return 0, false
}
