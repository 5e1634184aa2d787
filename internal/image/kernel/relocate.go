package kernel

import (
	"bytes"
	"encoding/binary"
)

// A relocatable kernel for arm64 or RISC-V carries no pointers: it makes them when it starts, by a table
// of relocations (Elf64_Rela: r_offset, r_info, r_addend) that lies in its data, __rela_start to __rela_end.
// A word of a table of functions is zero in the file:
//
//	r_offset ffff8000097f2a18   proc_reg_file_ops.write
//	r_addend ffff800008455f40   proc_reg_write

const (
	relaSize = 24
	// fewestRelocations is how many entries must follow one another: a kernel has a hundred thousand.
	fewestRelocations = 64
)

// span is a part of the data.
type span struct{ lo, hi int }

// relocate makes the pointers that the kernel makes when it starts at base, and tells where the table
// lies; nothing where there is none.
func (p *payload) relocate(base uint64) (table span) {
	r := relocations{data: p.data, base: base, order: binary.LittleEndian}
	if p.arch.BigEndian {
		r.order = binary.BigEndian
	}
	if table = r.find(); table.lo == table.hi {
		return table
	}
	if !p.owned {
		p.data = bytes.Clone(p.data)
	}
	for at := table.lo; at < table.hi; at += relaSize {
		off, addend, _ := r.entry(at)
		r.order.PutUint64(p.data[off:], addend)
	}
	return table
}

type relocations struct {
	data  []byte
	base  uint64
	order binary.ByteOrder
}

// find looks for the table: entries one behind the other.
func (r *relocations) find() (table span) {
	for at := 0; at+relaSize <= len(r.data); at += 8 {
		if _, _, ok := r.entry(at); !ok {
			continue
		}
		end := at
		for ; end+relaSize <= len(r.data); end += relaSize {
			if _, _, ok := r.entry(end); !ok {
				break
			}
		}
		if end-at >= fewestRelocations*relaSize {
			return span{at, end}
		}
		at = end
	}
	return span{}
}

// entry is the entry of the table at an offset in the data: a word's offset, and what the word becomes.
func (r *relocations) entry(at int) (off, addend uint64, ok bool) {
	if info := r.order.Uint64(r.data[at+8:]); info != rAArch64Relative && info != rRISCVRelative {
		return 0, 0, false
	}
	off = r.order.Uint64(r.data[at:]) - r.base
	addend = r.order.Uint64(r.data[at+16:])
	return off, addend, off%8 == 0 && off < uint64(len(r.data)) && off+8 <= uint64(len(r.data)) && addend >= r.base
}
