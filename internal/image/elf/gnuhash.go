package elf

import "github.com/backsight/backsight/internal/bin"

// gnuHash is .gnu.hash, by which the dynamic linker finds what a file exports (glibc, elf/dl-lookup.c). A filter comes first, where each
// name has two bits of a word: no image but libc's has __abort_msg, and of 6 MB of names, which V8's library exports, none is read
// to know that.
//
//	buckets, first symbol, filter's words, shift · the filter · a symbol for each bucket · the hashes of the symbols
type gnuHash struct {
	filter, buckets, hashes []byte
	size                    int // of a word of the filter, in bytes
	shift, first            uint32
	order                   bin.Order
}

// gnuHash is empty where the file has none.
func (f *file) gnuHash() (h gnuHash) {
	s, ok := f.sections.find(".gnu.hash")
	if !ok {
		return h
	}
	r := bin.New(f.sections.bytes(s), f.big)
	buckets := uint64(r.U32())
	h.first = r.U32()
	words := uint64(r.U32())
	h.shift, h.size, h.order = r.U32(), int(f.layout.addr), bin.Order(f.big)
	h.filter, h.buckets = r.Bytes(words*f.layout.addr), r.Bytes(4*buckets)
	if r.Err() != nil || words == 0 || buckets == 0 {
		return gnuHash{}
	}
	h.hashes = r.Bytes(uint64(r.Len()))
	return h
}

func (h *gnuHash) known() bool { return len(h.buckets) > 0 }

// hashOf is DJB's hash, from 5381 on.
func hashOf(name string) uint32 {
	hash := uint32(5381)
	for _, c := range []byte(name) {
		hash = 33*hash + uint32(c)
	}
	return hash
}

// lacks tells that no symbol has a name with the hash; false: one may.
func (h *gnuHash) lacks(hash uint32) bool {
	bits := 8 * uint32(h.size)
	word := bin.Uint(h.filter[int(uint64(hash/bits)%uint64(len(h.filter)/h.size))*h.size:][:h.size], bool(h.order))
	return word>>(hash%bits)&1 == 0 || word>>(hash>>h.shift%bits)&1 == 0
}

// mostVersions bounds the symbols of a name: glibc has three of some.
const mostVersions = 64

// with are the indexes of the symbols that have a name's hash, but for the last bit: that of the hashes ends those of a bucket. There
// may be no such symbols.
func (h *gnuHash) with(name string) (found []uint32) {
	hash := hashOf(name)
	if h.lacks(hash) {
		return nil
	}
	i := h.order.U32(h.buckets[int(uint64(hash)%uint64(len(h.buckets)/4))*4:])
	if i < h.first {
		return nil // an empty bucket
	}
	for at := 4 * (uint64(i) - uint64(h.first)); at+4 <= uint64(len(h.hashes)); at, i = at+4, i+1 {
		own := h.order.U32(h.hashes[at:])
		if (own^hash)>>1 == 0 {
			found = append(found, i)
		}
		if own&1 != 0 || len(found) == mostVersions {
			break
		}
	}
	return found
}
