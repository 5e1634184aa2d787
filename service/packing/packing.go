// Package packing unpacks what arrives, and packs what is kept in the database.
package packing

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The forms: None for bytes as they are.
const None, Gzip, Zstd = "", "gzip", "zstd"

// ErrLarge says that there is more than the bound.
var ErrLarge = errors.New("too large")

// window bounds the memory that a zstd stream may ask for (RFC 8878, 3.1.1.1.2, recommends 8 MB).
const window = 8 << 20

// Of tells by how bytes begin in which form they are (RFC 1952, 2.3.1; RFC 8878, 3.1.1).
func Of(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b, 8}):
		return Gzip
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Zstd
	}
	return None
}

// Reader reads what r has in a form. Close gives its memory back, and does not close r.
func Reader(form string, r io.Reader) (io.ReadCloser, error) {
	switch form {
	case None, "identity":
		return io.NopCloser(r), nil
	case Gzip, "x-gzip":
		return gzip.NewReader(r)
	case Zstd:
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(window))
		if err != nil {
			return nil, err
		}
		return d.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("%q is none of gzip, zstd", form)
}

// Bounded reads r, and ends with ErrLarge where there are more than n bytes.
func Bounded(r io.Reader, n int64) io.Reader { return &bounded{r, n} }

type bounded struct {
	r io.Reader
	n int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.n+1 {
		p = p[:b.n+1]
	}
	n, err := b.r.Read(p)
	if b.n -= int64(n); b.n < 0 {
		return n, ErrLarge
	}
	return n, err
}

// Pack is bytes in zstd, equal for equal ones.
func Pack(b []byte) ([]byte, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(1<<20))
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(b, nil), e.Close()
}

// Unpack is what Pack was given, which has n bytes at most.
func Unpack(b []byte, n int64) ([]byte, error) {
	r, err := Reader(Zstd, bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(Bounded(r, n))
}
