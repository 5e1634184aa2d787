package input

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxWindow bounds the memory of the zstd decoder: the format's own default
// limit for --long (27), far above the 8 MiB of systemd-coredump's files.
const maxWindow = 128 << 20

// decompressor returns a reader for the decompressed stream where head begins a
// known compression (RFC 1952, RFC 8878), nil where it does not.
func decompressor(head []byte, r io.Reader) (z io.Reader, release func() error, err error) {
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		g, err := gzip.NewReader(r)
		if err != nil {
			return nil, nil, err
		}
		return g, g.Close, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return d, func() error { d.Close(); return nil }, nil
	}
	return nil, nil, nil
}
