package zram

import (
	"errors"
	"fmt"
)

// encoding is how a page table's entry says where a page was swapped out to.
type encoding struct {
	cpu                string // cpu.Arch.Name
	area, areaBits     uint   // swap_info's index
	offset, offsetBits uint   // the page on the device
	inverted           bool   // the offset's bits are
	absent             uint64 // bits that are 0 of a page that was swapped out
}

// encodings are those of processors whose words are their entries (arch/*/include/asm/pgtable*.h, __swp_type, __swp_offset). Several of one
// processor are those of several versions of Linux.
func encodings() []encoding {
	return []encoding{
		{cpu: "x86_64", area: 59, areaBits: 5, offset: 9, offsetBits: 50, inverted: true, absent: 0x101}, // 4.18
		{cpu: "aarch64", area: 6, areaBits: 5, offset: 12, offsetBits: 50, absent: 0x803},                // 6.10
		{cpu: "aarch64", area: 3, areaBits: 5, offset: 8, offsetBits: 50, absent: 1<<58 | 3},             // 5.19
		{cpu: "aarch64", area: 2, areaBits: 6, offset: 8, offsetBits: 50, absent: 1<<58 | 3},
		{cpu: "arm", area: 2, areaBits: 5, offset: 8, offsetBits: 24, absent: 3}, // 6.3
		{cpu: "arm", area: 2, areaBits: 5, offset: 7, offsetBits: 25, absent: 3},
		{cpu: "riscv64", area: 7, areaBits: 5, offset: 12, offsetBits: 52, absent: 0x21}, // 6.3
		{cpu: "riscv64", area: 6, areaBits: 5, offset: 11, offsetBits: 53, absent: 0x21}, // 5.18
		{cpu: "riscv64", area: 2, areaBits: 5, offset: 7, offsetBits: 57, absent: 0x21},
		{cpu: "mips", area: 10, areaBits: 5, offset: 15, offsetBits: 17, absent: 1},
		{cpu: "mips64", area: 16, areaBits: 7, offset: 24, offsetBits: 40, absent: 1},
	}
}

// split takes an entry apart; area is maxAreas where it is none of a page that was swapped out.
func (e *encoding) split(entry uint64) (area, offset uint64) {
	if entry&e.absent != 0 {
		return maxAreas, 0
	}
	area, offset = entry>>e.area&(1<<e.areaBits-1), entry
	if e.inverted {
		offset = ^offset
	}
	return area, offset >> e.offset & (1<<e.offsetBits - 1)
}

// findEncoding finds how entries say where pages are: that by which nearly all that lead to zram lead to what is used there. Of several
// encodings none counts, unless they agree. disks are the devices where it is not known which one an entry's index means.
func (s *Swap) findEncoding(entries []uint64, disks []*disk) error {
	var fits []encoding
	for _, e := range encodings() {
		if e.cpu != s.Arch.Name {
			continue
		}
		areas := s.areas
		if s.Areas == 0 {
			areas = s.areasBy(&e, entries, disks)
		}
		if used, unused := s.countUsed(&e, &areas, entries); used <= 9*unused {
			continue
		}
		if len(fits) > 0 && !agree(&fits[0], &e, entries) {
			return fmt.Errorf("how page tables lead to zram is not known: %d pages fit two ways", len(entries))
		}
		if fits = append(fits, e); len(fits) == 1 {
			s.areas = areas
		}
	}
	if len(fits) == 0 {
		return errors.New("how page tables lead to zram is not known")
	}
	s.encoding = fits[0]
	return nil
}

// countUsed counts the entries that lead to what zram uses, and those that lead to what it does not, or to where other ones lead.
func (s *Swap) countUsed(e *encoding, areas *[maxAreas]*disk, entries []uint64) (used, unused int) {
	owner := map[[2]uint64]uint64{}
	for _, entry := range entries {
		area, offset := e.split(entry)
		if area >= maxAreas { // a page that moves, or is forbidden
			continue
		}
		other, taken := owner[[2]uint64{area, offset}]
		owner[[2]uint64{area, offset}] = entry
		switch {
		case areas[area] == nil && s.Areas != 0 && s.at(s.Areas+area*s.word) != 0: // to something else
		case areas[area] != nil && s.used(areas[area], offset) && (!taken || other == entry):
			used++
		default:
			unused++
		}
	}
	return used, unused
}

// areasBy are the devices that entries mean by an index: the only ones that have what the entries with that index lead to. A device has one
// index.
func (s *Swap) areasBy(e *encoding, entries []uint64, disks []*disk) (areas [maxAreas]*disk) {
	var by [maxAreas][]uint64
	for _, entry := range entries {
		if area, _ := e.split(entry); area < maxAreas {
			by[area] = append(by[area], entry)
		}
	}
	taken := map[*disk]int{}
	for area := range areas {
		fits := 0
		for _, d := range disks {
			var only [maxAreas]*disk
			only[area] = d
			if used, unused := s.countUsed(e, &only, by[area]); used > 9*unused {
				areas[area] = d
				fits++
			}
		}
		if fits != 1 {
			areas[area] = nil
		}
		taken[areas[area]]++
	}
	for area, d := range areas {
		if taken[d] > 1 {
			areas[area] = nil
		}
	}
	return areas
}

// agree tells whether two encodings mean the same by all entries.
func agree(a, b *encoding, entries []uint64) bool {
	for _, entry := range entries {
		area, offset := a.split(entry)
		if other, second := b.split(entry); area != other || offset != second {
			return false
		}
	}
	return true
}
