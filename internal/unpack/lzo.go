package unpack

import (
	"errors"
	"io"

	"github.com/backsight/backsight/internal/bin"
)

// errLZO is that of data that is no LZO stream.
var errLZO = errors.New("damaged LZO data")

// LZO decompresses one LZO1X block (Documentation/staging/lzo.rst) to limit bytes at most.
func LZO(packed []byte, limit int) ([]byte, error) {
	z := lzo{in: bin.New(packed, false), out: make([]byte, 0, min(limit, times64(len(packed))+64)), limit: limit}
	err := z.run()
	return z.out, err
}

// lzo is a block while it is decompressed.
type lzo struct {
	in    bin.Reader
	out   []byte
	limit int
	// zeros: a match may be a run of zeros, as streams that begin with their version have them.
	zeros bool
	// literals is how many bytes the last instruction copied from the input, 4 for more
	// than three: the shortest instructions depend on that.
	literals int
}

func (z *lzo) run() error {
	look := z.in
	if look.U8() == 17 && z.in.Len() >= 5 {
		z.zeros = look.U8() != 0
		z.in = look
	}
	look = z.in
	if first := int(look.U8()); first > 17 {
		z.in = look
		if err := z.literal(first - 17); err != nil {
			return err
		}
	}
	for {
		op := int(z.in.U8())
		if z.in.Err() != nil {
			return io.ErrUnexpectedEOF
		}
		if op < 16 && z.literals == 0 {
			if err := z.literal(z.length(op, 15) + 3); err != nil {
				return err
			}
			continue
		}
		if run, state, ok := z.zeroRun(op); ok {
			if err := z.fill(run, state); err != nil {
				return err
			}
			continue
		}
		n, distance, state := z.match(op)
		if distance == endOfStream {
			return nil
		}
		if err := z.copy(distance, n); err != nil {
			return err
		}
		if err := z.literal(state); err != nil {
			return err
		}
		z.literals = state
	}
}

// endOfStream is the distance that ends a stream.
const endOfStream = 16384

// zeroRun decodes an instruction that appends n zeros, and then state bytes of the input: one of a match of at least 16 KB back with the
// largest distance that no match has (0b00011xxx, 0xfffc).
func (z *lzo) zeroRun(op int) (n, state int, ok bool) {
	if !z.zeros || op&0xf8 != 0x18 {
		return 0, 0, false
	}
	look := z.in
	v := int(look.U16())
	more := int(look.U8())
	if v&0xfffc != 0xfffc || look.Err() != nil {
		return 0, 0, false
	}
	z.in = look
	return op&7 + more<<3 + 4, v & 3, true
}

// fill appends zeros and literals.
func (z *lzo) fill(n, literals int) error {
	if n > z.limit-len(z.out) {
		return errFull
	}
	z.out = append(z.out, make([]byte, n)...)
	err := z.literal(literals)
	z.literals = literals
	return err
}

// match decodes an instruction that copies n bytes of the output, and then state bytes of
// the input.
func (z *lzo) match(op int) (n, distance, state int) {
	switch {
	case op < 16:
		n, distance = 2, op>>2+1
		if z.literals == 4 {
			n, distance = 3, op>>2+2049
		}
		return n, distance + int(z.in.U8())<<2, op & 3
	case op < 32:
		n = z.length(op&7, 7) + 2
		v := int(z.in.U16())
		return n, endOfStream + op&8<<11 + v>>2, v & 3
	case op < 64:
		n = z.length(op&31, 31) + 2
		v := int(z.in.U16())
		return n, v>>2 + 1, v & 3
	}
	n = op>>5 + 1
	return n, op>>2&7 + int(z.in.U8())<<3 + 1, op & 3
}

// length is n or, where n is 0, full and 255 for each zero byte that follows and the byte
// behind these.
func (z *lzo) length(n, full int) int {
	if n != 0 {
		return n
	}
	for n = full; z.in.Err() == nil && n <= z.limit; n += 255 {
		if b := z.in.U8(); b != 0 {
			return n + int(b)
		}
	}
	return n
}

func (z *lzo) literal(n int) error {
	if n > z.limit-len(z.out) {
		return errFull
	}
	b := z.in.Bytes(uint64(n))
	if z.in.Err() != nil {
		return io.ErrUnexpectedEOF
	}
	z.out = append(z.out, b...)
	z.literals = min(n, 4)
	return nil
}

func (z *lzo) copy(distance, n int) error {
	switch from := len(z.out) - distance; {
	case z.in.Err() != nil:
		return io.ErrUnexpectedEOF
	case from < 0:
		return errLZO
	case n > z.limit-len(z.out):
		return errFull
	default:
		z.out = appendFrom(z.out, from, n)
	}
	return nil
}

// appendFrom appends n bytes of out from an offset on, among them those that it appends.
func appendFrom(out []byte, from, n int) []byte {
	for n > 0 {
		k := min(n, len(out)-from)
		out = append(out, out[from:from+k]...)
		from, n = from+k, n-k
	}
	return out
}

// Flags of lzop's header (lib/decompress_unlzo.c).
const (
	lzopVersion1 = 0x0940 // from here on the header has three further fields
	lzopFilter   = 0x0800
	// adler32 and crc32 of the data as decompressed, then as compressed
	lzopSums, lzopPackedSums = 0x0101, 0x0202
)

func unlzop(packed []byte, w *sink) error {
	r := bin.New(packed, true)
	r.Skip(9)
	version := r.U16()
	r.Skip(3)
	if version >= lzopVersion1 {
		r.Skip(3)
	}
	flags := r.U32()
	if flags&lzopFilter != 0 {
		r.Skip(4)
	}
	r.Skip(8)
	if version >= lzopVersion1 {
		r.Skip(4)
	}
	r.Skip(uint64(r.U8()))
	r.Skip(4)
	for {
		size := r.U32()
		if size == 0 || r.Err() != nil {
			return r.Err()
		}
		n := r.U32()
		r.Skip(4 * bits(flags&lzopSums))
		if n < size {
			r.Skip(4 * bits(flags&lzopPackedSums))
		}
		if err := lzopBlock(r.Bytes(uint64(n)), uint64(size), w); err != nil {
			return err
		}
	}
}

// bits counts those of flags.
func bits(flags uint32) (n uint64) {
	for ; flags != 0; flags &= flags - 1 {
		n++
	}
	return n
}

func lzopBlock(packed []byte, size uint64, w *sink) error {
	if size == uint64(len(packed)) {
		return w.add(packed)
	}
	out, err := LZO(packed, bin.Limit(size, w.limit-len(w.data)))
	if over := w.add(out); over != nil {
		return over
	}
	return err
}
