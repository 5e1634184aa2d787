package locals

import (
	"debug/dwarf"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/symbol"
)

// lists are the location lists of a unit, and what they refer to.
type lists struct {
	section []byte // .debug_loc, or, from DWARF 5 on, .debug_loclists
	addrs   []byte // .debug_addr
	version int
	split   bool
	// base is the unit's address, that offsets in lists are from; the others are offsets of
	// the unit's part of .debug_addr and of the table that DW_FORM_loclistx counts in.
	base, addrBase, listBase uint64
	size                     int // of an address
	big                      bool
}

func newLists(sc symbol.Scope, arch *cpu.Arch) lists {
	l := lists{version: sc.Version, split: sc.Split, size: arch.AddrSize, big: arch.BigEndian, addrs: sc.Section(".debug_addr")}
	l.section = sc.Section(".debug_loc")
	if sc.Version >= 5 {
		l.section = sc.Section(".debug_loclists")
	}
	r := sc.Data.Reader()
	r.Seek(sc.Unit)
	e, err := r.Next()
	if err != nil || e == nil {
		return l
	}
	if l.base, _ = e.Val(dwarf.AttrLowpc).(uint64); sc.Split {
		l.base = sc.Base
	}
	addrBase, _ := e.Val(dwarf.AttrAddrBase).(int64)
	listBase, _ := e.Val(dwarf.AttrLoclistsBase).(int64)
	l.addrBase, l.listBase = uint64(addrBase), uint64(listBase)
	return l
}

// address is entry i of the unit's part of .debug_addr.
func (l *lists) address(i uint64) (uint64, bool) {
	if i > uint64(len(l.addrs)) {
		return 0, false
	}
	r := bin.NewAt(l.addrs, l.addrBase+i*uint64(l.size), l.big)
	v := r.Uint(l.size)
	return v, r.Err() == nil
}

// numbered is find for a list by its number in the unit's table of offsets (§7.29).
func (l *lists) numbered(i, pc uint64) ([]byte, bool) {
	if i > uint64(len(l.section)) {
		return nil, false
	}
	const offset = 4 // bytes, in the 32-bit format, the only one that compilers write
	r := bin.NewAt(l.section, l.listBase+offset*i, l.big)
	at := uint64(r.U32())
	if r.Err() != nil {
		return nil, false
	}
	return l.find(l.listBase+at, pc)
}

// find looks through a list for the description that holds at pc.
func (l *lists) find(at, pc uint64) ([]byte, bool) {
	if at >= uint64(len(l.section)) {
		return nil, false
	}
	r := bin.NewAt(l.section, at, l.big)
	switch {
	case l.version >= 5:
	case l.split:
		return l.findGNU(&r, pc)
	default:
		return l.findOld(&r, pc)
	}
	return l.findNew(&r, pc)
}

// findOld reads .debug_loc (DWARF 4 §2.6.2): pairs of offsets from a base, which a pair that
// begins with the largest address changes.
func (l *lists) findOld(r *bin.Reader, pc uint64) ([]byte, bool) {
	base, most := l.base, ^uint64(0)>>(64-8*l.size)
	for r.Err() == nil {
		lo, hi := r.Uint(l.size), r.Uint(l.size)
		switch {
		case lo == 0 && hi == 0:
			return nil, false
		case lo == most:
			base = hi
			continue
		}
		expr := r.Bytes(uint64(r.U16()))
		if r.Err() == nil && base+lo <= pc && pc < base+hi {
			return expr, true
		}
	}
	return nil, false
}

// findGNU reads .debug_loc.dwo (GCC wiki, "DebugFission"): kinds of entries as DWARF 5 has them
// since, with lengths of fixed sizes.
func (l *lists) findGNU(r *bin.Reader, pc uint64) ([]byte, bool) {
	const base, startEnd, startLength = 1, 2, 3 // 0 ends the list
	for r.Err() == nil {
		lo, hi := uint64(0), uint64(0)
		switch r.U8() {
		case base:
			l.base, _ = l.address(r.ULEB())
			continue
		case startEnd:
			lo, _ = l.address(r.ULEB())
			hi, _ = l.address(r.ULEB())
		case startLength:
			lo, _ = l.address(r.ULEB())
			hi = lo + uint64(r.U32())
		default:
			return nil, false
		}
		if expr := r.Bytes(uint64(r.U16())); r.Err() == nil && lo <= pc && pc < hi {
			return expr, true
		}
	}
	return nil, false
}

// Kinds of location list entries (DWARF 5, table 7.10).
const (
	endOfList = iota
	baseAddressx
	startxEndx
	startxLength
	offsetPair
	defaultLocation
	baseAddress
	startEnd
	startLength
)

// findNew reads .debug_loclists (§7.7.3). The default holds where nothing else does.
func (l *lists) findNew(r *bin.Reader, pc uint64) (usual []byte, ok bool) {
	base := l.base
	for r.Err() == nil {
		kind := r.U8()
		lo, hi := uint64(0), uint64(0)
		switch kind {
		case endOfList:
			return usual, usual != nil
		case baseAddressx:
			base, _ = l.address(r.ULEB())
			continue
		case baseAddress:
			base = r.Uint(l.size)
			continue
		case startxEndx:
			lo, _ = l.address(r.ULEB())
			hi, _ = l.address(r.ULEB())
		case startxLength:
			lo, _ = l.address(r.ULEB())
			hi = lo + r.ULEB()
		case offsetPair:
			lo = base + r.ULEB()
			hi = base + r.ULEB()
		case startEnd:
			lo, hi = r.Uint(l.size), r.Uint(l.size)
		case startLength:
			lo = r.Uint(l.size)
			hi = lo + r.ULEB()
		case defaultLocation:
		default:
			return nil, false
		}
		expr := r.Bytes(r.ULEB())
		switch {
		case r.Err() != nil:
			return nil, false
		case kind == defaultLocation:
			usual = expr
		case lo <= pc && pc < hi:
			return expr, true
		}
	}
	return nil, false
}
