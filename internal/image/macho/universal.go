package macho

import (
	"io/fs"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/mapped"
)

// maxSlices bounds the processors of a universal file, and tells such a file from a Java class,
// which begins alike. The largest number seen in a universal file is seven.
const maxSlices = 45

// slice is one processor's Mach-O file in a universal one.
type slice struct{ off, size uint64 }

// slicesOf lists the slices of a universal file. A file of another kind is one slice. The header
// is big-endian whatever the processors are (mach-o/fat.h).
func slicesOf(data []byte) []slice {
	r := bin.New(data, true)
	magic, n := r.U32(), r.U32()
	if magic != fatMagic && magic != fatMagic64 {
		return []slice{{0, uint64(len(data))}}
	}
	var list []slice
	for range min(n, maxSlices) {
		r.Skip(8) // cputype, cpusubtype: the slice's own header decides
		var s slice
		if magic == fatMagic64 {
			s = slice{r.U64(), r.U64()}
			r.Skip(8) // align, reserved
		} else {
			s = slice{uint64(r.U32()), uint64(r.U32())}
			r.Skip(4)
		}
		if r.Err() == nil && s.off < uint64(len(data)) {
			s.size = min(s.size, uint64(len(data))-s.off)
			list = append(list, s)
		}
	}
	return list
}

// UUIDs are the UUIDs of the Mach-O files in the file at a path in fsys (nil: of this machine); none where the file is of another
// kind.
func UUIDs(fsys fs.FS, path string) (ids [][]byte) {
	if path == "" {
		return nil
	}
	in, err := (&image.Options{FS: fsys}).OpenFile(path, sniff)
	if err != nil {
		return nil
	}
	defer in.Close()
	mapped.Guard(func() {
		for _, s := range slicesOf(in.Data) {
			if f, err := newFile(path, in.Data[s.off:s.off+s.size], 0); err == nil && f.uuid != nil {
				ids = append(ids, f.uuid)
			}
		}
	})
	return ids
}

// choose reads the Mach-O file that opt asks for: of opt's processor and, where several are of that
// processor (arm64 and arm64e), with opt's build ID. Where opt asks for nothing, or nothing fits,
// the choice is the first Mach-O file of a known processor. n is the number of Mach-O files.
func choose(in *image.File, opt image.Options) (best *file, n int, err error) {
	score := -1
	for _, s := range slicesOf(in.Data) {
		f, e := newFile(in.Name, in.Data[s.off:s.off+s.size], 0)
		if e != nil {
			if err == nil {
				err = e
			}
			continue
		}
		n++
		f.start = s.off
		if got := f.fits(f.uuid, opt); got > score {
			best, score = f, got
		}
	}
	switch {
	case best != nil:
		return best, n, nil
	case err == nil:
		err = in.Errorf(0, "a universal file without a Mach-O file in it")
	}
	return nil, 0, err
}
