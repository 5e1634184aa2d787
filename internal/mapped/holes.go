//go:build linux

package mapped

import (
	"os"
)

// What lseek(2) looks for: the next data, the next hole.
const seekData, seekHole = 3, 4

// maxExtents bounds the runs of a file; a file of more counts as one.
const maxExtents = 1 << 16

// Extents are the runs of data of a file of size bytes, in order, as the file system keeps them; the holes between read as zeros, and
// whoever reads them has the system make pages of them. Where it does not tell, all is one run.
func Extents(path string, size int64) []Extent {
	all := []Extent{{0, size}}
	f, err := os.Open(path)
	if err != nil {
		return all
	}
	defer f.Close()
	var list []Extent
	for at := int64(0); at < size; {
		from, err := f.Seek(at, seekData)
		if err != nil { // ENXIO: a hole up to the end
			if at == 0 && !isSparse(f) {
				return all
			}
			break
		}
		to, err := f.Seek(from, seekHole)
		if err != nil || to <= from || len(list) == maxExtents {
			return all
		}
		list = append(list, Extent{from, min(to, size) - from})
		at = to
	}
	return list
}

// isSparse tells whether the file system knows of a hole at the beginning of a file.
func isSparse(f *os.File) bool {
	hole, err := f.Seek(0, seekHole)
	return err == nil && hole == 0
}
