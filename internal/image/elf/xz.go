package elf

import "github.com/backsight/backsight/internal/bin"

// xzSize walks the blocks of an xz stream (The .xz File Format 1.1.0, §2 and §3)
// and the chunks of their LZMA2 data without decoding them, and returns what
// they decompress to. It refuses filters other than LZMA2 and dictionaries above
// maxWindow.
func xzSize(stream []byte) (total uint64, ok bool) {
	r := bin.New(stream, false)
	magic := r.Bytes(6)
	r.Skip(1)
	check := r.U8()
	r.Skip(4) // CRC32
	if string(magic) != "\xfd7zXZ\x00" || check > 15 {
		return 0, false
	}
	for r.Err() == nil {
		look := r
		if look.U8() == 0 { // the index follows the last block
			return total, look.Err() == nil
		}
		if !xzBlockHeader(&r) {
			return 0, false
		}
		n, ok := lzma2Size(&r)
		if !ok {
			return 0, false
		}
		total += n
		r.Align(4)
		r.Skip(xzCheckSize(check))
	}
	return 0, false
}

// xzCheckSize: the ids come in groups of three with one size (§2.1.1.2).
func xzCheckSize(id uint8) uint64 {
	return [16]uint64{0, 4, 4, 4, 8, 8, 8, 16, 16, 16, 32, 32, 32, 64, 64, 64}[id&15]
}

// xzBlockHeader reads a block header (§3.1): one filter, LZMA2, whose only
// property is the dictionary size (§5.3.1).
func xzBlockHeader(r *bin.Reader) bool {
	size := (uint64(r.U8()) + 1) * 4
	h := bin.New(r.Bytes(size-1), false)
	flags := h.U8()
	if flags&0x40 != 0 {
		h.ULEB() // compressed size
	}
	if flags&0x80 != 0 {
		h.ULEB() // uncompressed size
	}
	id, n, dict := h.ULEB(), h.ULEB(), h.U8()
	if h.Err() != nil || flags&3 != 0 || id != 0x21 || n != 1 || dict > 40 {
		return false
	}
	return uint64(2|dict&1)<<(dict/2+11) <= maxWindow
}

// lzma2Size adds up the chunks of LZMA2 data: a control byte, the uncompressed
// size, the compressed size, sometimes a property byte, the data.
func lzma2Size(r *bin.Reader) (total uint64, ok bool) {
	for r.Err() == nil {
		control := r.U8()
		switch {
		case control == 0:
			return total, r.Err() == nil
		case control <= 2: // stored
			n := be16(r) + 1
			total += n
			r.Skip(n)
		case control < 0x80:
			return 0, false
		default:
			total += uint64(control&0x1f)<<16 + be16(r) + 1
			packed := be16(r) + 1
			if control >= 0xc0 {
				r.Skip(1) // properties
			}
			r.Skip(packed)
		}
	}
	return 0, false
}

// be16: chunk sizes are big-endian.
func be16(r *bin.Reader) uint64 {
	return uint64(r.U8())<<8 | uint64(r.U8())
}
