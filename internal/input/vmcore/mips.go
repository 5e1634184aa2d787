package vmcore

import (
	"encoding/binary"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/paging"
)

// unmapped are the segments of MIPS's address space that show physical memory without page
// tables: kseg0, ckseg0 and xkphys with each kind of cache.
func (t translation) unmapped() []paging.Mapping {
	const kseg0, ksegSize = 0x8000_0000, 0x2000_0000
	if t.arch.AddrSize == 4 {
		return []paging.Mapping{{Virtual: kseg0, Size: ksegSize, Write: true, Exec: true}}
	}
	all := []paging.Mapping{{Virtual: 0xffff_ffff_0000_0000 | kseg0, Size: ksegSize, Write: true, Exec: true}}
	for _, cache := range []uint64{2, 3, 5} { // uncached, cached, cached and coherent
		all = append(all, paging.Mapping{Virtual: 1<<63 | cache<<59, Size: 1 << 48, Write: true, Exec: true})
	}
	return all
}

const (
	// minPFN and maxPFN bound where the page's number begins in an entry of MIPS's tables:
	// behind some of the bits present, write, accessed, modified, huge, no-exec, no-read,
	// global, valid, dirty and three of the cache (arch/mips/include/asm/pgtable-bits.h).
	minPFN, maxPFN = 6, 16
	cacheBits      = 3
	// few: one of so many runs of pages may lie outside of the memory.
	few = 8
)

// mipsScheme finds the layout of the page tables, which depends on the kernel's
// configuration: all pages are in the memory, and the bits of the cache, right below the
// page's number, are the same in all entries. The lowest bit of the number is not; where one of
// the cache is taken for that, all numbers are even, or all odd.
func (t translation) mipsScheme(root uint64, page uint) (paging.Scheme, bool) {
	high := uint64(0xc000_0000_0000_0000)
	best, known := paging.MIPS(t.arch.AddrSize, page, minPFN, high), false
	for pfn := uint(minPFN); pfn <= maxPFN; pfn++ {
		s := paging.MIPS(t.arch.AddrSize, page, pfn, high)
		mappings, fit := t.allPresent(&paging.Tables{Scheme: s, Physical: t.words(), Root: root})
		switch {
		case fit && evenAndOdd(mappings, page):
			return s, true
		case fit && !known:
			best, known = s, true
		}
	}
	return best, known
}

// allPresent tells whether tables map pages, for the most part such that the memory has, and these with
// the same kind of cache. Others are devices' (Loongson-3: PCI's ports, at 0x18000000).
func (t translation) allPresent(tables *paging.Tables) (mappings []paging.Mapping, ok bool) {
	mappings, err := tables.Mappings(t.ctx, 1<<(8*t.arch.AddrSize-1))
	if err != nil || len(mappings) == 0 {
		return nil, false
	}
	outside := 0
	for _, m := range mappings {
		if _, ok := t.physical.PermAt(m.Physical); !ok {
			outside++
		}
	}
	return mappings, outside*few <= len(mappings) && tables.SameCache(t.ctx)
}

// evenAndOdd tells whether the numbers of mapped pages are both.
func evenAndOdd(mappings []paging.Mapping, page uint) bool {
	var seen [2]bool
	for _, m := range mappings {
		seen[m.Physical>>page&1] = true
		if seen[0] && seen[1] || m.Size>>page > 1 {
			return true
		}
	}
	return false
}

// unmoved are the bytes of a MIPS kernel that moved itself by a multiple of 64 KB (CONFIG_RELOCATABLE),
// as they would be where it is linked: instructions hold addresses, or their upper halves. at is the image
// address of the first byte. What the kernel moved, its file has (arch/mips/kernel/relocate.c); the jumps that
// the kernel wrote since, for jump labels, are moved back.
func unmoved(content []byte, at, bias uint64, file *image.Image) []byte {
	const jump, jumpAndLink, loadUpper, target = 2, 3, 15, 1<<26 - 1
	var order binary.ByteOrder = binary.LittleEndian
	if file.Arch.BigEndian {
		order = binary.BigEndian
	}
	out := append([]byte(nil), content...)
	for i := range file.Segments {
		s := &file.Segments[i]
		for off := range uint64(len(s.Data) / 4) {
			to := s.Addr + 4*off - at
			if to >= uint64(len(out)) || uint64(len(out))-to < 4 {
				continue
			}
			ran, linked := order.Uint32(out[to:]), order.Uint32(s.Data[4*off:])
			jumps := ran>>26 == jump || ran>>26 == jumpAndLink
			back := ran&^target | (ran-uint32(bias>>2))&target
			switch {
			case ran == linked:
			case ran-linked == uint32(bias), ran>>26 == loadUpper && ran-linked == uint32(bias>>16), jumps && back == linked:
				order.PutUint32(out[to:], linked)
			case jumps && s.Exec:
				order.PutUint32(out[to:], back)
			}
		}
	}
	return out
}
