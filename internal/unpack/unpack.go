// Package unpack decompresses kernels, and the pages of memory dumps, which lie in memory:
// the formats of the Linux kernel's scripts/Makefile.lib (gzip, bzip2, lzma, xz with the
// filters for branches, lzop, lz4, zstd), recognised by their magic numbers.
//
// Specifications: RFC 1952, RFC 8878; The .xz File Format 1.1.0; Documentation/staging/lzo.rst
// and the LZ4 block format; lzop's header as lib/decompress_unlzo.c reads it.
package unpack

import (
	"bytes"
	"compress/bzip2"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz/lzma"
)

// Format is a compression that begins with a magic number.
type Format struct {
	Name  string
	magic []byte
	open  func(packed []byte, w *sink) error
}

// Formats are the compressions of kernels. lzma has no magic number but the usual values of
// its first header fields, and comes last.
func Formats() []Format {
	return []Format{
		{"gzip", []byte{0x1f, 0x8b, 8}, gunzip},
		{"xz", []byte("\xfd7zXZ\x00"), unxz},
		{"zstd", []byte{0x28, 0xb5, 0x2f, 0xfd}, unzstd},
		{"lz4", []byte{0x02, 0x21, 0x4c, 0x18}, unlz4},
		{"lzop", []byte("\x89LZO\x00\r\n\x1a\n"), unlzop},
		{"bzip2", []byte("BZh"), unbzip2},
		{"lzma", []byte{0x5d, 0, 0}, unlzma},
	}
}

// Recognise is the format whose magic number data begins with.
func Recognise(data []byte) (Format, bool) {
	for _, f := range Formats() {
		if bytes.HasPrefix(data, f.magic) {
			return f, true
		}
	}
	return Format{}, false
}

// Index is where the magic number of a format next stands in data, negative if nowhere.
func (f *Format) Index(data []byte) int { return bytes.Index(data, f.magic) }

// errFull is that of a stream that expands to more than its bound.
var errFull = errors.New("decompresses to more than its bound")

// Unpack decompresses the stream that packed begins with, to limit bytes at most; what
// follows the stream is ignored. Where the stream breaks off, what came before is returned
// with an error.
func (f *Format) Unpack(packed []byte, limit int) ([]byte, error) {
	w := &sink{limit: limit}
	err := f.open(packed, w)
	if err != nil {
		err = fmt.Errorf("%s: %w", f.Name, err)
	}
	return w.data, err
}

// sink collects decompressed bytes up to a bound.
type sink struct {
	data  []byte
	limit int
}

// copyFrom reads all of r.
func (w *sink) copyFrom(r io.Reader) error {
	buf := make([]byte, 256<<10)
	for {
		n, err := r.Read(buf)
		if err := w.add(buf[:n]); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (w *sink) add(b []byte) error {
	room := w.limit - len(w.data)
	if len(b) > room {
		w.data = append(w.data, b[:room]...)
		return errFull
	}
	w.data = append(w.data, b...)
	return nil
}

func gunzip(packed []byte, w *sink) error {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return err
	}
	defer r.Close()
	r.Multistream(false)
	return w.copyFrom(r)
}

func unbzip2(packed []byte, w *sink) error {
	err := w.copyFrom(bzip2.NewReader(bytes.NewReader(packed)))
	if err != nil && len(w.data) > 0 && !errors.Is(err, errFull) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil // what follows the stream is no further stream
	}
	return err
}

// window bounds the history that a stream may ask the decoder to keep: zstd -22 --ultra,
// which kernels use, keeps 128 MB. What a stream expands to is not more than 64 times its
// size, but for long runs of one byte, which lie close by; and small files have small windows.
func window(packed []byte) int { return min(128<<20, max(8<<20, times64(len(packed)))) }

// times64 is n times 64, within what an int of 32 bits holds.
func times64(n int) int { return 64 * min(n, 1<<24) }

func unzstd(packed []byte, w *sink) error {
	r, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(uint64(window(packed))), zstd.WithDecoderLowmem(true))
	if err != nil {
		return err
	}
	defer r.Close()
	err = w.copyFrom(r)
	if errors.Is(err, zstd.ErrMagicMismatch) && len(w.data) > 0 {
		return nil // what follows the first frame is none
	}
	return err
}

// lzmaHeader is the size of an .lzma file's header: properties, dictionary, length.
const lzmaHeader = 13

func unlzma(packed []byte, w *sink) error {
	if len(packed) < lzmaHeader {
		return io.ErrUnexpectedEOF
	}
	header := bytes.Clone(packed[:lzmaHeader])
	dict := min(binary.LittleEndian.Uint32(header[1:]), uint32(window(packed)))
	binary.LittleEndian.PutUint32(header[1:], dict)
	r, err := lzma.NewReader(io.MultiReader(bytes.NewReader(header), bytes.NewReader(packed[lzmaHeader:])))
	if err != nil {
		return err
	}
	return w.copyFrom(r)
}
