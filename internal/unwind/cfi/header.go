package cfi

import "github.com/backsight/backsight/image"

// header is .eh_frame_hdr (LSB Core, "The .eh_frame_hdr section"): a table of
// function starts and FDEs, sorted by start, that is searched in place.
type header struct {
	section
	framePtr uint64 // image address of .eh_frame
	table    []byte // count entries of two 32-bit offsets from addr
	count    int
	mask     uint64 // address bits of a start, without the ISA mode
}

// rowSize is the size of an entry in the one encoding that linkers write,
// DW_EH_PE_datarel|DW_EH_PE_sdata4. Tables in another are not searched.
const rowSize = 8

// findHeader reads the header that the program is loaded with. count is 0 where
// there is none or it has no table.
func findHeader(img *image.Image, base section) header {
	h := header{section: base, mask: base.arch.AddrMask()}
	if base.arch.ISABit {
		h.mask &^= 1
	}
	at := img.Table(image.EHFrameHdr)
	h.addr, h.data = at.Addr, img.Segments.Bytes(at.Addr)
	h.data = h.data[:min(uint64(len(h.data)), at.Size)]
	h.dataBase = h.addr
	h.parse()
	return h
}

func (h *header) parse() {
	r := h.reader(0, uint64(len(h.data)))
	version, frameEnc, countEnc, tableEnc := r.U8(), r.U8(), r.U8(), r.U8()
	if r.Err() != nil || version != 1 {
		return
	}
	size := h.arch.AddrSize
	ptr, ok := h.pointer(&r, frameEnc, size, 0)
	if !ok || r.Err() != nil {
		return
	}
	h.framePtr = ptr
	n, ok := h.pointer(&r, countEnc, size, 0)
	if !ok || r.Err() != nil || tableEnc != encDataRel|encSData4 {
		return
	}
	h.count = int(min(n, uint64(r.Len()/rowSize)))
	h.table = r.Bytes(uint64(h.count) * rowSize)
}

// row returns the start and the FDE's address of entry i.
func (h *header) row(i int) (start, fde uint64) {
	return h.at(rowSize * i), h.at(rowSize*i + 4)
}

func (h *header) at(i int) uint64 {
	return (h.addr + uint64(int32(h.word(h.table[i:])))) & h.mask
}

// search returns the last entry that starts at or below pc, -1 for none.
func (h *header) search(pc uint64) int {
	if h.count == 0 || h.at(0) > pc {
		return -1
	}
	lo := 0 // of n entries, the first of which starts at or below pc
	for n := h.count; n > 1; {
		half := n / 2
		if h.at(rowSize*(lo+half)) <= pc {
			lo += half
		}
		n -= half
	}
	return lo
}

// sound tells whether the table is sorted and points into s: whether a search
// that finds nothing means anything.
func (h *header) sound(s *frames) bool {
	last := uint64(0)
	for i := range h.count {
		start, at := h.row(i)
		if start < last || at-s.addr >= uint64(len(s.data)) {
			return false
		}
		last = start
	}
	return h.count > 0
}
