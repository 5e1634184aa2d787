package elf

import "github.com/backsight/backsight/internal/bin"

// dynamic has the entries of the dynamic section that lead to .dynsym and to the
// relocations without section headers (gABI ch. 5, "Dynamic Section").
type dynamic struct {
	symtab, strtab, strsz, hash, gnuHash uint64
	init, fini                           uint64
	versym                               uint64
	relocationTables
	globalOffsets
}

// relocationTables are where the dynamic linker finds relocations, and their sizes. relatives are how many relocations without a symbol
// come first in the table of rel, or of rela.
type relocationTables struct {
	rel, relsz, rela, relasz, jmprel, pltrelsz, pltrel, relr, relrsz, relatives uint64
}

// globalOffsets describe the global offset table, of whose parts the MIPS supplement tells.
type globalOffsets struct {
	pltgot, mipsLocalGotno, mipsGotsym, mipsSymtabno uint64
}

func (f *file) dynamic() (d dynamic, ok bool) {
	p, ok := f.segments.find(ptDynamic)
	if !ok {
		return d, false
	}
	r := bin.New(f.segments.bytes(p), f.big)
	for r.Len() > 0 && r.Err() == nil {
		tag, v := f.word(&r), f.word(&r)
		if tag == 0 {
			break
		}
		d.set(tag, v)
		if f.machine == emMIPS {
			d.setMIPS(tag, v)
		}
	}
	return d, d.symtab != 0
}

func (d *dynamic) set(tag, v uint64) {
	switch tag {
	case dtSymtab:
		d.symtab = v
	case dtStrtab:
		d.strtab = v
	case dtStrsz:
		d.strsz = v
	case dtHash:
		d.hash = v
	case dtGNUHash:
		d.gnuHash = v
	case dtVersym:
		d.versym = v
	case dtRel:
		d.rel = v
	case dtRelsz:
		d.relsz = v
	case dtRela:
		d.rela = v
	case dtRelasz:
		d.relasz = v
	case dtJmprel:
		d.jmprel = v
	case dtPltrelsz:
		d.pltrelsz = v
	case dtPltrel:
		d.pltrel = v
	case dtInit:
		d.init = v
	case dtFini:
		d.fini = v
	case dtRelr:
		d.relr = v
	case dtRelrsz:
		d.relrsz = v
	case dtPltgot:
		d.pltgot = v
	case dtRelacount, dtRelcount:
		d.relatives = v
	}
}

func (d *dynamic) setMIPS(tag, v uint64) {
	switch tag {
	case dtMIPSLocalGotno:
		d.mipsLocalGotno = v
	case dtMIPSGotsym:
		d.mipsGotsym = v
	case dtMIPSSymtabno:
		d.mipsSymtabno = v
	}
}

// dynamicTable is .dynsym as the dynamic section describes it.
func (f *file) dynamicTable() symtab {
	d, ok := f.dynamic()
	if !ok {
		return symtab{}
	}
	syms, str := f.segments.bytesAt(d.symtab), f.segments.bytesAt(d.strtab)
	size := f.layout.sym
	n := bin.Limit(f.dynamicCount(d), len(syms)/int(size))
	return symtab{f: f, syms: syms[:n*int(size)], str: str[:bin.Limit(d.strsz, len(str))]}
}

// symbolVersions has a halfword for each symbol of .dynsym: the number of its version (LSB Core,
// "Symbol Versioning", "Version Table").
func symbolVersions(f *file) []byte {
	d, ok := f.dynamic()
	if !ok || d.versym == 0 {
		return nil
	}
	return f.segments.bytesAt(d.versym)
}

// dynamicCount is the number of symbols, which the dynamic section does not
// state except on MIPS: from a hash table, else from the string table, which
// linkers place behind the symbols.
func (f *file) dynamicCount(d dynamic) uint64 {
	switch {
	case d.mipsSymtabno != 0:
		return d.mipsSymtabno
	case d.hash != 0:
		r := bin.New(f.segments.bytesAt(d.hash), f.big)
		r.Skip(4) // nbucket
		return uint64(r.U32())
	case d.gnuHash != 0:
		return gnuHashCount(&f.encoding, f.segments.bytesAt(d.gnuHash))
	case d.strtab > d.symtab:
		return (d.strtab - d.symtab) / f.layout.sym
	}
	return 0
}

// gnuHashCount finds the last symbol of DT_GNU_HASH: the end of the chain that
// the highest bucket starts. The layout is nbuckets, symoffset, bloom_size,
// bloom_shift, the bloom words, buckets, chains; bit 0 ends a chain.
func gnuHashCount(enc *encoding, table []byte) uint64 {
	r := bin.New(table, enc.big)
	nbuckets, symoffset, bloom := r.U32(), r.U32(), r.U32()
	r.Skip(4 + uint64(bloom)*enc.addr)
	last := uint32(0)
	for range nbuckets {
		if r.Err() != nil {
			return 0
		}
		last = max(last, r.U32())
	}
	if last < symoffset { // only undefined symbols
		return uint64(symoffset)
	}
	r.Skip(4 * uint64(last-symoffset))
	for n := uint64(last) + 1; r.Err() == nil; n++ {
		if r.U32()&1 == 1 {
			return n
		}
	}
	return 0
}
