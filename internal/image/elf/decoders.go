//go:build !small

package elf

import (
	"bytes"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"github.com/backsight/backsight/image"
)

func unzstd(in *image.File, stream []byte, size uint64) ([]byte, bool) {
	packed := bytes.NewReader(stream)
	z, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err != nil {
		return nil, false
	}
	defer z.Close()
	used := func() int { return len(stream) - packed.Len() }
	return expand(&passing{z, used, trail{in: in, packed: stream}}, len(stream), size)
}

// unxz decompresses an xz stream after measuring it. The decoder allocates the dictionary that
// each block header asks for, up to 4 GB; xzSize refuses such headers before the decoder sees them.
// The decoder is foreign code over hostile input: a panic there means a damaged stream.
func unxz(stream []byte) (data []byte, ok bool) {
	defer func() {
		if recover() != nil {
			data, ok = nil, false
		}
	}()
	size, ok := xzSize(stream)
	if !ok {
		return nil, false
	}
	z, err := xz.ReaderConfig{DictCap: 1 << 12, SingleStream: true}.NewReader(bytes.NewReader(stream))
	if err != nil {
		return nil, false
	}
	return expand(z, len(stream), size)
}
