//go:build !small

package input

import (
	"bytes"
	"compress/bzip2"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
	"github.com/ulikunitz/xz"
)

// compressions are those of RFC 1952, RFC 8878, the .xz File Format 1.1, bzip2's "BZh", and the LZ4 Frame Format 1.6.
func compressions() []compression {
	return []compression{
		{"\x1f\x8b", openGzip},
		{"\x28\xb5\x2f\xfd", openZstd},
		{"\xfd7zXZ\x00", openXZ},
		{"BZh", openBzip2},
		{"\x04\x22\x4d\x18", openLZ4},
	}
}

func openGzip(_ []byte, r io.Reader) (io.Reader, func() error, error) {
	g, err := gzip.NewReader(r)
	if err != nil {
		return nil, nil, err
	}
	return g, func() error { _ = g.Close(); return nil }, nil // an error of reading, which was said
}

// maxWindow bounds the memory of the zstd decoder: the format's own default
// limit for --long (27), far above the 8 MiB of systemd-coredump's files.
const maxWindow = 128 << 20

func openZstd(_ []byte, r io.Reader) (io.Reader, func() error, error) {
	d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, nil, err
	}
	return d, func() error { d.Close(); return nil }, nil
}

// maxDictionary bounds the memory of the xz decoder: the dictionary of xz -9.
const maxDictionary = 64 << 20

func openXZ(_ []byte, r io.Reader) (io.Reader, func() error, error) {
	x, err := xz.ReaderConfig{DictCap: maxDictionary}.NewReader(r)
	if err != nil {
		return nil, nil, err
	}
	return x, noRelease, nil
}

func openBzip2(head []byte, r io.Reader) (io.Reader, func() error, error) {
	if len(head) <= 4 || !bytes.Equal(head[4:min(10, len(head))], []byte("1AY&SY")) {
		return nil, nil, nil
	}
	return bzip2.NewReader(r), noRelease, nil
}

func openLZ4(_ []byte, r io.Reader) (io.Reader, func() error, error) {
	return lz4.NewReader(r), noRelease, nil
}

func noRelease() error { return nil }
