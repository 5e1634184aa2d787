package dyldcache

import (
	"bytes"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/image/macho"
)

// openSymbols opens the file beside the cache that has the symbols which no other library may use,
// where these are not in the cache itself (dyld_cache_header, symbolFileUUID).
func (c *cache) openSymbols(in *image.File) {
	if in.Path == "" || !c.has(in.Data, symbolFileAt+16) {
		return
	}
	if f, err := in.OpenBeside(in.Path+".symbols", sniff); err == nil {
		c.files, c.symbols = append(c.files, f), f
	}
}

// nlistSize is the size of a symbol in caches of a processor, which the magic number ends with.
func nlistSize(magic []byte) uint64 {
	if bytes.Contains(magic, []byte("64")) && !bytes.Contains(magic, []byte("64_32")) {
		return 16
	}
	return 12
}

// locals are the symbols of the library whose mach header is at an address that are kept apart
// (dyld_cache_local_symbols_info): a table of them for each library, by the offset of its header
// from where the cache begins.
func (c *cache) locals(header uint64) (l macho.Locals) {
	data := c.symbols.Data
	r := bin.NewAt(data, localsAt, false)
	off, size := r.U64(), r.U64()
	if r.Err() != nil {
		return l
	}
	info := data[bin.Limit(off, len(data)):]
	info = info[:bin.Limit(size, len(info))]
	r = bin.New(info, false)
	nlists, count := uint64(r.U32()), uint64(r.U32())
	strings, stringsSize := uint64(r.U32()), uint64(r.U32())
	entries, n := uint64(r.U32()), uint64(r.U32())
	r.Seek(entries)
	for range min(n, maxImages) {
		at, first, own := c.offset(&r), uint64(r.U32()), uint64(r.U32())
		if r.Err() != nil || first+own > count {
			break
		}
		if at == header-c.base() {
			size := nlistSize(data[:len(magic)+8])
			l.Nlist = part(info, nlists+size*first, size*own)
			l.Strings = part(info, strings, stringsSize)
			break
		}
	}
	return l
}

// offset reads where a library begins: 64 bits where symbols have a file of their own, else 32.
func (c *cache) offset(r *bin.Reader) uint64 {
	if c.has(c.files[0].Data, symbolFileAt+16) {
		return r.U64()
	}
	return uint64(r.U32())
}

// base is the address of the cache's first byte.
func (c *cache) base() uint64 { return c.mappings[0].addr - c.mappings[0].off }

func part(data []byte, off, size uint64) []byte {
	data = data[bin.Limit(off, len(data)):]
	return data[:bin.Limit(size, len(data))]
}
