package ehabi

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Exceptions is the address of the data for exceptions of the function at pc, 0 where it has none, and where the function
// begins and ends; known: the index has an entry for it. The data of another personality routine than the ABI's own follows the bytecodes
// (section 10.2, __gxx_personality_v0).
func (Source) Exceptions(img *image.Image, pc uint64) (lo, hi, lsda uint64, known bool) {
	base, table := index(img)
	big := img.Arch.BigEndian
	k, ok := search(table, base, pc, big)
	if !ok {
		return 0, 0, 0, false
	}
	lo, hi = function(table, base, k, big), ^uint64(0)
	if (k+2)*entrySize <= len(table) {
		hi = function(table, base, k+1, big)
	}
	content := word(table[k*entrySize+4:], big)
	if content == cantUnwind || content&compact != 0 {
		return lo, hi, 0, true
	}
	at := prel31(base+uint64(k)*entrySize+4, content)
	entry := img.Segments.Bytes(at)
	if len(entry) < entrySize {
		return lo, hi, 0, false
	}
	if word(entry, big)&compact != 0 {
		return lo, hi, 0, true
	}
	more := bin.Uint(entry[4:8], big) >> 24
	return lo, hi, at + entrySize + 4*more, true
}
