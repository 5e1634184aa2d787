package perfdata

import (
	"slices"

	"github.com/backsight/backsight/image"
)

// loaded are, by the names of files, the parts that were mapped as code. perf writes the build IDs of files in which samples lie, and
// none of those that are only in lists of calls (build_id__mark_dso_hit before Linux 6.2), none with -B, or through a pipe: of
// another machine's recording the files at the same paths are others, as /lib/x86_64-linux-gnu/libgcc_s.so.1 may be.
type loaded map[string][]section

// Bounds: of a file a loader maps each segment with code, and a program what it likes (V8 its built-in functions again).
const maxFiles, maxParts = 1 << 16, 16

// add keeps a part.
func (l loaded) add(m *mapping) {
	parts, has := l[m.name]
	if part := (section{m.off, m.Hi - m.Lo}); m.exec && m.buildID == nil && (has || len(l) < maxFiles) && len(parts) < maxParts && !slices.Contains(parts, part) {
		l[m.name] = append(parts, part)
	}
}

// sameBuild tells whether an image may be the file that was mapped: some part is of the pages that a segment has, or of those from there
// to the image's end, as Linux maps a program's first segment, and ld.so a library's, before others are mapped over it.
func (l loaded) sameBuild(name string, img *image.Image) bool {
	parts := l[name]
	if len(parts) == 0 || len(parts) == maxParts {
		return true
	}
	_, hi := img.Segments.Bounds()
	for i := range img.Segments {
		seg := &img.Segments[i]
		switch {
		case !seg.Exec:
		case (seg.FileOff-seg.Addr)%pageSizes[0] != 0:
			return true // not ELF: its parts are copied
		case slices.ContainsFunc(parts, func(s section) bool {
			return s.holds(seg.FileOff, uint64(len(seg.Data))) || s.holds(seg.FileOff, hi-seg.Addr)
		}):
			return true
		}
	}
	return false
}

// pageSizes are those that Linux has on processors that perf takes registers of.
var pageSizes = [...]uint64{4 << 10, 16 << 10, 64 << 10}

// holds tells whether a section has the pages of size bytes from off on.
func (s section) holds(off, size uint64) bool {
	return slices.ContainsFunc(pageSizes[:], func(page uint64) bool {
		return s.off == off&^(page-1) && s.off+s.size == (off+size+page-1)&^(page-1)
	})
}
