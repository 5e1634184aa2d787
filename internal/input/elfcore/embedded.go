package elfcore

import (
	"bytes"
	"path"
	"slices"
	"sort"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/image/elf"
)

// fromArchive adds the binaries that were mapped out of an archive, as Android maps libraries that lie uncompressed in an .apk:
// where a part's offset in the file is where an ELF file begins. It reports false where there is none.
//
//	7cb0e62000-7cb0e63000  offset 4000  fake.apk     ELF at 0x4000
//	7cb0e63000-7cb0e64000  offset 5000  fake.apk     the same, from its offset 0x1000 on
func (f *finder) fromArchive(m *mapping, binaries *budget.Budget) (found bool) {
	parts := slices.Clone(m.parts)
	sort.Slice(parts, func(a, b int) bool { return parts[a].start < parts[b].start })
	var list []embedded
	for _, p := range parts {
		if img := f.embeddedAt(m.path, p, binaries); img != nil {
			list = append(list, embedded{img: img, base: p.off, mapping: mapping{path: m.path}})
		}
		if last := len(list) - 1; last >= 0 && p.off >= list[last].base {
			last := &list[last]
			p.off -= last.base
			last.parts = append(last.parts, p)
		}
	}
	for i := range list {
		e := &list[i]
		if name := soName(e.img); name != "" {
			e.path += "!" + name
		}
		head := f.space.mappedHeader(&e.mapping)
		found = f.addMapped(&e.mapping, &head, e.img) || found
	}
	return found
}

// embedded is a binary that begins at an offset of an archive; its parts count from there.
type embedded struct {
	mapping
	img  *image.Image
	base uint64
}

// embeddedAt is the binary that begins where a part of an archive does, nil where none does.
func (f *finder) embeddedAt(archive string, p fileMapping, binaries *budget.Budget) *image.Image {
	if p.off == 0 || !binaries.Draw(1) {
		return nil
	}
	ref := f.binaries.wanted(archive, f.space.readMapped(p.start).buildID)
	ref.Absolute, ref.Offset = true, p.off
	img, _ := f.binaries.files.Find(ref)
	return img
}

// soName is DT_SONAME, "" where an image has none.
func soName(img *image.Image) string {
	const dtStrTab, dtSOName = 5, 14
	dynamic := elf.LinkInfoOf(img).Dynamic
	r := bin.New(img.Segments.Bytes(dynamic.Addr), img.Arch.BigEndian)
	var strings, name uint64
	for range maxDynamic {
		switch tag, v := r.Uint(img.Arch.AddrSize), r.Uint(img.Arch.AddrSize); {
		case r.Err() != nil || tag == dtNull:
			b, _, ok := bytes.Cut(img.Segments.Bytes(strings+name), []byte{0})
			if !ok || name == 0 || len(b) > maxString {
				return ""
			}
			return path.Base(string(b))
		case tag == dtStrTab:
			strings = v
		case tag == dtSOName:
			name = v
		}
	}
	return ""
}
