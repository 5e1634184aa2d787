package paging

import "math/bits"

// AArch64 is the scheme of AArch64's upper half (TTBR1): pages of 1<<pageShift bytes, 12,
// 14 or 16; addresses of vaBits bits. wide: the tables hold physical addresses of 52 bits.
func AArch64(pageShift, vaBits uint, wide bool) Scheme {
	s := Scheme{EntrySize: 8, High: ^uint64(0) << vaBits}
	stride := pageShift - 3
	for shift := pageShift; ; shift += stride {
		s.Levels = append([]Level{{shift, min(stride, vaBits-shift)}}, s.Levels...)
		if shift+stride >= vaBits {
			break
		}
	}
	s.decode = func(e uint64, level, last int) entry { return aarch64(e, level == last, pageShift, wide) }
	return s
}

// aarch64 decodes a descriptor (DDI 0487, D8.3): bit 0 valid, bit 1 a table or, in the last
// level, a page.
func aarch64(e uint64, last bool, pageShift uint, wide bool) entry {
	addr := e & (1<<48 - 1) &^ (1<<pageShift - 1)
	switch {
	case wide && pageShift == 16:
		addr |= e >> 12 & 0xf << 48
	case wide:
		addr = e&(1<<50-1)&^(1<<pageShift-1) | e>>8&3<<50
	}
	out := entry{addr: addr, write: e&(1<<7) == 0, exec: e&(1<<53) == 0}
	switch {
	case e&1 == 0 || last && e&2 == 0:
	case last || e&2 == 0:
		out.kind = page
	default:
		out.kind = table
	}
	return out
}

// X8664 is the scheme of x86-64, with four or five levels of tables.
func X8664(levels int) Scheme {
	s := Scheme{EntrySize: 8, Sign: true, decode: x86}
	for i := levels; i > 0; i-- {
		s.Levels = append(s.Levels, Level{uint(3 + 9*i), 9})
	}
	return s
}

// x86 decodes an entry (SDM volume 3, tables 5-14 to 5-20).
func x86(e uint64, level, last int) entry {
	const large = 1 << 7
	out := entry{addr: e & (1<<52 - 1) &^ 0xfff, write: e&2 != 0, exec: e>>63 == 0}
	switch {
	case e&1 == 0:
	case level == last:
		out.kind = page
	case e&large == 0:
		out.kind = table
	default:
		out.kind = page
		out.addr &^= 0x1fff // bit 12 is PAT
	}
	return out
}

// X8632 is the scheme of i386: two levels of 32-bit entries or, with PAE, three of 64 bits.
func X8632(pae bool) Scheme {
	if pae {
		return Scheme{EntrySize: 8, Levels: []Level{{30, 2}, {21, 9}, {12, 9}}, decode: func(e uint64, level, last int) entry {
			// SDM volume 3, table 5-8: no permissions, and no pages. Bit 5 is reserved, too, but QEMU's
			// emulation sets that when the entry is used.
			const reserved = 0x1c6
			switch {
			case level == 0 && e&reserved != 0:
				return entry{}
			case level == 0:
				e |= 2
			}
			return x86(e, level, last)
		}}
	}
	return Scheme{EntrySize: 4, Levels: []Level{{22, 10}, {12, 10}}, decode: func(e uint64, level, last int) entry {
		out := x86(e, level, last)
		if level < last && out.kind == page { // 4 MB; bits 13 to 20 are bits 32 to 39 of the address (PSE-36)
			out.addr = e&0xffc0_0000 | e>>13&0xff<<32
		}
		return out
	}}
}

// ARM is the scheme of ARM's short descriptors: sections of 1 MB, pages of 4 KB.
func ARM() Scheme {
	return Scheme{EntrySize: 4, Levels: []Level{{20, 12}, {12, 8}}, decode: armShort, user: linuxARM}
}

func armShort(e uint64, level, _ int) entry {
	if level == 0 {
		switch {
		case e&3 == 1:
			return entry{kind: table, addr: e &^ 0x3ff}
		case e&2 != 0 && e&(1<<18) != 0: // a supersection, 16 entries alike
			return entry{kind: page, addr: e&^0xff_ffff | e>>20&0xf<<32, size: 1 << 24, write: e&(1<<15) == 0, exec: e&(1<<4) == 0}
		case e&2 != 0:
			return entry{kind: page, addr: e &^ 0xf_ffff, write: e&(1<<15) == 0, exec: e&(1<<4) == 0}
		}
		return entry{}
	}
	switch {
	case e&3 == 1: // a large page, 16 entries alike
		return entry{kind: page, addr: e &^ 0xffff, size: 1 << 16, write: e&(1<<9) == 0, exec: e&(1<<15) == 0}
	case e&2 != 0:
		return entry{kind: page, addr: e &^ 0xfff, write: e&(1<<9) == 0, exec: e&1 == 0}
	}
	return entry{}
}

// LPAE is the scheme of ARM's long descriptors.
func LPAE() Scheme {
	s := AArch64(12, 32, false)
	s.High = 0
	s.decode = func(e uint64, level, last int) entry {
		out := aarch64(e, level == last, 12, false)
		out.addr &= 1<<40 - 1
		out.exec = e&(1<<54) == 0
		return out
	}
	return s
}

// RISCV is the scheme Sv39, Sv48 or Sv57 by the number of levels, 3 to 5; Sv32 for 2.
func RISCV(levels int) Scheme {
	s := Scheme{EntrySize: 8, Sign: levels > 2, decode: riscv}
	width := uint(9)
	if levels == 2 {
		s.EntrySize, width = 4, 10
	}
	for i := levels - 1; i >= 0; i-- {
		s.Levels = append(s.Levels, Level{12 + width*uint(i), width})
	}
	return s
}

func riscv(e uint64, _, _ int) entry {
	out := entry{addr: e & (1<<54 - 1) >> 10 << 12, write: e&4 != 0, exec: e&8 != 0}
	switch {
	case e&1 == 0:
	case e&0xe == 0:
		out.kind = table
	default:
		out.kind = page
	}
	return out
}

// MIPS is the scheme of the tables that Linux keeps for the processor's refill handler: the
// tables hold addresses of tables in an unmapped segment, and pages as numbers from bit
// pfnShift on. word is the size of an entry. High is where the mapped segment begins.
func MIPS(word int, pageShift, pfnShift uint, high uint64) Scheme {
	s := Scheme{EntrySize: word, High: high}
	perTable := pageShift - uint(bits.TrailingZeros(uint(word)))
	first := perTable
	if pageShift == 12 {
		first++ // the first table has two pages (__PGD_ORDER)
	}
	if word == 4 {
		s.Levels = []Level{{pageShift + perTable, 32 - pageShift - perTable}, {pageShift, perTable}}
		s.High = 0 // the first table is for all 32 bits
	} else {
		s.Levels = []Level{{pageShift + 2*perTable, first}, {pageShift + perTable, perTable}, {pageShift, perTable}}
		s.Top = ^uint64(0) << (s.Levels[0].Shift + s.Levels[0].Bits) // modules lie in CKSSEG, whose tables are the last of XKSEG's
	}
	s.decode = func(e uint64, level, last int) entry {
		if level < last {
			return entry{kind: table, addr: mipsPhysical(e, word)}
		}
		out := entry{addr: e >> pfnShift << pageShift, write: true, exec: true, cache: uint8(e >> (pfnShift - 3) & 7)}
		if e&1 != 0 { // _PAGE_PRESENT
			out.kind = page
		}
		return out
	}
	return s
}

// mipsPhysical is the physical address behind one of kseg0, ckseg0 or xkphys.
func mipsPhysical(va uint64, word int) uint64 {
	if word == 4 || va>>32 == 0xffff_ffff {
		return va & 0x1fff_ffff
	}
	return va & (1<<48 - 1)
}

// User is the scheme of a process's tables, where s is that of the kernel's: its addresses have no bits above.
func (s Scheme) User() Scheme {
	if s.user != nil {
		return s.user()
	}
	s.High, s.Top = 0, 0
	return s
}

// linuxARM is the scheme of what Linux keeps of a process's pages beside ARM's short descriptors, which lack pages that were not used
// for a while: the tables of pages lie 2 KB before the processor's (arch/arm/include/asm/pgtable-2level.h).
func linuxARM() Scheme {
	s := ARM()
	s.decode = func(e uint64, level, last int) entry {
		const before, present, readOnly, noExec = 2048, 1, 1 << 7, 1 << 9
		switch {
		case level < last:
			out := armShort(e, level, last)
			if out.kind == table {
				out.addr -= before
			}
			return out
		case e&present == 0:
			return entry{}
		}
		return entry{kind: page, addr: e &^ 0xfff, write: e&readOnly == 0, exec: e&noExec == 0}
	}
	return s
}
