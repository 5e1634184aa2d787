package kernel

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/kallsyms"
)

// A kernel whose names count from its first byte says in its pointers where it is linked: those to functions, of
// tables such as file_operations, are each the address of the first byte and what kallsyms says of a function. The
// address of the first byte is a whole number of pages, so that a pointer is to one of the functions with the same
// offset in their page:
//
//	word in the data     function, from the first byte    so the first byte is at
//	ffffffff8053eee0     53eee0  proc_reg_write           ffffffff80000000
//	ffffffff8053eee0     29bee0  another                  ffffffff802a3000, which few other words say

const (
	// pointerSamples is how many functions pointers are looked for of.
	pointerSamples = 2048
	// fewestPointers is how many pointers must agree: a kernel has tens of thousands.
	fewestPointers = 16
	// maxBases bounds the addresses that are counted.
	maxBases = 1 << 20
)

// pointedFrom finds the address of the data's first byte, of which at least twice as many pointers tell as of any
// other.
func pointedFrom(t *kallsyms.Table, arch *cpu.Arch, data []byte) (base uint64, ok bool) {
	inPage := map[uint64][]uint64{}
	for _, addr := range sample(t, pointerSamples) {
		inPage[addr%pageSize] = append(inPage[addr%pageSize], addr)
	}
	votes, seen := map[uint64]int{}, map[uint64]bool{}
	size := arch.AddrSize
	for at := 0; at+size <= len(data) && max(len(votes), len(seen)) < maxBases; at += size {
		w := word(data[at:], arch)
		if size == 8 && w>>52 != 0xfff || w>>(8*size-1) == 0 || seen[w] {
			continue
		}
		seen[w] = true
		for _, addr := range inPage[w%pageSize] {
			if b := w - addr; b>>(8*size-1) == 1 && w-b < uint64(len(data)) {
				votes[b]++
			}
		}
	}
	best, second := 0, 0
	for b, n := range votes {
		switch {
		case n > best:
			base, best, second = b, n, best
		case n > second:
			second = n
		}
	}
	return base, best >= fewestPointers && best >= 2*second
}

// word is the address at the beginning of data.
func word(data []byte, arch *cpu.Arch) uint64 {
	var order binary.ByteOrder = binary.LittleEndian
	if arch.BigEndian {
		order = binary.BigEndian
	}
	if arch.AddrSize == 4 {
		return uint64(order.Uint32(data))
	}
	return order.Uint64(data)
}
