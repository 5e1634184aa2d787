package vmcore

import (
	"github.com/backsight/backsight/internal/bin"
)

// makedumpfile -F writes a dump that can go through a pipe: a header of 4096 bytes, then
// records of an offset and a size, both 64 bits and big-endian, with the bytes for that
// place of the dump; the offset −1 ends it.
const (
	flatMagic  = "makedumpfile\x00\x00\x00\x00"
	flatHeader = 4096
)

// unflatten puts the records of a flattened dump where they belong. Records may write a place
// again, but a dump is not much larger than all of them together: places beyond are left
// out.
func unflatten(data []byte) (out []byte, complete bool) {
	r := bin.NewAt(data, flatHeader, true)
	out = make([]byte, 0, len(data))
	for r.Len() >= 16 {
		off, size := r.U64(), r.U64()
		if off == ^uint64(0) {
			return out, true
		}
		b := r.Bytes(min(size, uint64(r.Len())))
		end := off + uint64(len(b))
		if off > uint64(cap(out)) || end > uint64(cap(out)) {
			return out, false
		}
		if end > uint64(len(out)) {
			out = out[:end]
		}
		copy(out[off:], b)
	}
	return out, false
}
