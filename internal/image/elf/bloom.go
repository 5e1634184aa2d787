package elf

import "github.com/backsight/backsight/internal/bin"

// bloomFilter tells of most names that they are not among those that a file exports: .gnu.hash begins with one, where each
// name has two bits of a word. The dynamic linker asks the filter before it looks at a name (glibc, elf/dl-lookup.c). No image but
// libc's has __abort_msg: of 6 MB of names, which V8's library exports, none is read to know that.
type bloomFilter struct {
	words []byte
	n     uint32 // words
	shift uint32 // of the hash, for the second bit
	big   bool
}

// bloomFilter is empty where the file has none.
func (f *file) bloomFilter() bloomFilter {
	s, ok := f.sections.find(".gnu.hash")
	if !ok {
		return bloomFilter{}
	}
	r := bin.New(f.sections.bytes(s), f.big)
	r.Skip(8) // how many buckets, the first symbol
	b := bloomFilter{n: r.U32(), shift: r.U32(), big: f.big}
	b.words = r.Bytes(uint64(b.n) * f.layout.addr)
	if r.Err() != nil {
		return bloomFilter{}
	}
	return b
}

// lacks tells that the name is not exported; false: the name may be, or there is no filter.
func (b *bloomFilter) lacks(name string) bool {
	if b.n == 0 {
		return false
	}
	hash := uint32(5381)
	for _, c := range []byte(name) {
		hash = 33*hash + uint32(c)
	}
	size := len(b.words) / int(b.n)
	bits := 8 * uint32(size)
	word := bin.Uint(b.words[int(hash/bits%b.n)*size:][:size], b.big)
	return word>>(hash%bits)&1 == 0 || word>>(hash>>b.shift%bits)&1 == 0
}
