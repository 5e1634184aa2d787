package elf

import (
	"bytes"
	"hash/adler32"
	"io"
	"math"
	"sync"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/inflate"
)

// Limits of decompression. A file's claim is an upper bound only: memory grows
// with what really comes out of the stream.
const (
	// maxSection is beyond the largest debug sections seen (Chromium's
	// .debug_info: some hundred MB).
	maxSection = 1 << 30
	// maxRatio: DWARF shrinks to a third or a tenth; tables of zeros shrink more
	// but are small. ratioFree bytes may come out of any stream.
	maxRatio  = 64
	ratioFree = 1 << 20
	// maxWindow bounds the history that a stream asks the decoder to keep.
	// zstd -19 uses 8 MB, xz -6 too.
	maxWindow = 32 << 20
)

// expansion is what the sections of a file may decompress to together: many headers can
// show one stream. Debug information shrinks to a third; each section may be decompressed
// bit by bit and as a whole.
type expansion struct {
	mu      sync.Mutex
	left    budget.Budget
	readers sync.Pool // of *inflate.Reader, for one section after another
}

const expansionFloor, expansionPerByte = 64 << 20, 16

func (e *expansion) draw(size uint64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.left.Draw(bin.Limit(size, math.MaxInt))
}

// chdr reads the header of an SHF_COMPRESSED section (gABI ch. 4, "Section
// Compression"), behind which the stream begins.
func (e *encoding) chdr(section []byte) (typ uint32, size uint64, stream []byte, ok bool) {
	r := bin.New(section, e.big)
	typ = r.U32()
	if e.wide {
		r.Skip(4)
	}
	size = e.word(&r)
	r.Skip(e.addr) // ch_addralign
	return typ, size, r.Bytes(uint64(r.Len())), r.Err() == nil
}

// decompress reads an SHF_COMPRESSED section.
func (f *file) decompress(section []byte) ([]byte, bool) {
	typ, size, stream, ok := f.chdr(section)
	if !ok || !f.expansion.draw(size) {
		return nil, false
	}
	switch typ {
	case elfcompressZlib:
		return f.unzlib(stream, size)
	case elfcompressZstd:
		return unzstd(f.in, stream, size)
	}
	return nil, false
}

func (f *file) unzlib(stream []byte, size uint64) ([]byte, bool) {
	deflated, ok := deflatedIn(stream)
	if !ok {
		return nil, false
	}
	z, ok := f.expansion.readers.Get().(*inflate.Reader)
	if !ok {
		z = new(inflate.Reader)
	}
	defer f.expansion.readers.Put(z)
	z.Reset(deflated)
	out, ok := expand(&passing{z, z.Used, trail{in: f.in, packed: deflated}}, len(stream), size)
	sum := bin.New(stream, true)
	sum.Seek(uint64(zlibHeader + z.Used()))
	return out, ok && sum.U32() == adler32.Checksum(out) && sum.Err() == nil
}

// zlibHeader is the size of a zlib stream's header (RFC 1950 §2.2).
const zlibHeader = 2

// deflatedIn is what stands in a zlib stream behind its header, with its checksum.
func deflatedIn(stream []byte) ([]byte, bool) {
	r := bin.New(stream, true)
	h := r.U16()
	const method, window, dictionary = 0x0f00, 0xf000, 0x20
	if r.Err() != nil || h&method != 8<<8 || h&window > 7<<12 || h&dictionary != 0 || h%31 != 0 {
		return nil, false
	}
	return stream[zlibHeader:], true
}

// expand reads a stream of exactly size bytes that was compressed to packed
// bytes. One that is damaged, shorter or longer, or claims what cannot be, is no
// data. Reading beyond the last byte makes zstd's decoder check its checksum.
func expand(z io.Reader, packed int, size uint64) ([]byte, bool) {
	if !credible(size, packed) {
		return nil, false
	}
	var out bytes.Buffer
	out.Grow(int(min(size, max(ratioFree, 4*uint64(packed)))) + bytes.MinRead)
	n, err := io.Copy(&out, io.LimitReader(z, int64(size)+1))
	if err != nil || uint64(n) != size {
		return nil, false
	}
	return out.Bytes(), true
}

// credible tells whether a stream of packed bytes may hold size bytes.
func credible(size uint64, packed int) bool {
	return size <= maxSection && size <= ratioFree+maxRatio*uint64(packed)
}
