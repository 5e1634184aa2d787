package diagnose

import (
	"fmt"

	"github.com/backsight/backsight/target"
)

// mostChunks bounds how many blocks of a heap are passed over, on the way to an address.
const mostChunks = 1 << 20

// heapBlock says in which block of glibc's heap an address lies, "" elsewhere. Chunks follow one another from where the heap begins, each
// with its size in its second word, whose low bits are flags; what malloc returns is behind these two words, and
// reaches into the first word of the next chunk (glibc, malloc/malloc.c, "Chunk representation"). The last chunk has what is free.
func heapBlock(snap *target.Snapshot, addr uint64) string {
	heap, word := snap.Memory.RangeAt(addr), uint64(snap.Arch.AddrSize)
	at := heap.Lo
	if chunkAt(snap, at, heap) == 0 {
		at += 2 * word // i386: blocks are aligned to 16 bytes
	}
	for range mostChunks {
		size := chunkAt(snap, at, heap)
		switch next := at + size; {
		case size == 0, next < heap.Hi && chunkAt(snap, next, heap) == 0:
			return ""
		case addr >= next:
			at = next
		case next == heap.Hi:
			return "free memory of the heap"
		case addr < at+2*word:
			return fmt.Sprintf("the header of a block of %d bytes on the heap", size-word)
		default:
			return fmt.Sprintf("a block of %d bytes on the heap, %d bytes into it", size-word, addr-at-2*word)
		}
	}
	return ""
}

// chunkAt is the size of the chunk at an address of a heap, 0 where none can be: sizes are at least four words, and multiples of two; the
// flag of the first chunk says that the one before is in use.
func chunkAt(snap *target.Snapshot, at uint64, heap target.Range) uint64 {
	const flags, previousInUse = 7, 1
	word := uint64(snap.Arch.AddrSize)
	v, ok := snap.Memory.Word(at + word)
	size := v &^ flags
	if !ok || size < 4*word || size%(2*word) != 0 || at >= heap.Hi || size > heap.Hi-at || at == heap.Lo && v&previousInUse == 0 {
		return 0
	}
	return size
}

// mostBehind is how far behind a mapping an address is said to be behind that.
const mostBehind = 0x10000

// behind says behind which memory an address lies where nothing is mapped, "" where nothing is near: loops run over the end of what they go through.
func behind(snap *target.Snapshot, addr uint64) string {
	for _, s := range snap.Memory.Segments() {
		if end := s.Addr + s.Size(); end <= addr && addr-end < mostBehind {
			if what := placeOf(snap, end-1); what != "" && addr > end {
				return fmt.Sprintf("%d bytes behind the end of %s", addr-end, what)
			} else if what != "" {
				return "right behind the end of " + what
			}
		}
	}
	return ""
}
