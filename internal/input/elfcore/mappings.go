package elfcore

import (
	"bytes"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/target"
)

// mapping is all that NT_FILE says of one path.
type mapping struct {
	path  string
	parts []fileMapping
}

// maxBinaries bounds the files that are looked for on disk. Programs have some hundred
// shared libraries; a note has room for a hundred thousand names.
const maxBinaries = 1 << 12

// fromMappings makes modules of the table of file mappings.
func (f *finder) fromMappings() {
	files, binaries := grouped(f.notes.files), budget.New("binaries", maxBinaries, 0)
	main := f.mainPath(files)
	ahead := f.openAhead(files)
	defer ahead.end()
	for i, m := range files {
		ahead.reached.Store(int64(i))
		head := f.space.mappedHeader(&m)
		if !f.space.isCode(&m, &head) {
			continue
		}
		if !binaries.Draw(1) {
			f.found.capture(f.name, "%s: NT_FILE: %v; the others are left out", f.name, binaries.Err())
			break
		}
		if !head.found && m.path != main && f.fromArchive(&m, &binaries) {
			continue
		}
		var img *image.Image
		if m.path == main {
			img = f.executable(&m, &head)
		} else {
			img = f.binaries.mapped(m.path, head.buildID)
		}
		if img == nil || !f.addMapped(&m, &head, img) {
			f.addUnknown(&m, &head)
		}
	}
}

// executable is the program's own binary. That no file is it is an issue, whether frames lie in it or not: a walk that ends in a
// library goes on to the program where its code is at hand. Example: abort() of a PIE, whose core lacks libc, too.
func (f *finder) executable(m *mapping, head *mappedELF) *image.Image {
	said := len(f.found.list)
	img := f.binaries.mainProgram(m.path, head.buildID)
	if img == nil && len(f.found.list) == said {
		f.found.notFound(m.path, m.parts[0].start, "%s, mapped at %#x: not found", m.path, m.parts[0].start)
	}
	return img
}

// mainPath is the path that the executable is mapped from: of the file that the user named, else of the program headers that
// the kernel told the program of. A program that was started as an argument of the dynamic linker was told of the linker's.
func (f *finder) mainPath(files []mapping) string {
	if exe := f.binaries.files.Exe(); exe != "" {
		if img, err := f.binaries.files.Open(exe); err == nil && img.BuildID != nil {
			for i := range files {
				if head := f.space.mappedHeader(&files[i]); bytes.Equal(head.buildID, img.BuildID) {
					return files[i].path
				}
			}
		}
	}
	return f.notes.mainPath()
}

// addMapped adds an image wherever it was loaded; false where it cannot be.
func (f *finder) addMapped(m *mapping, head *mappedELF, img *image.Image) bool {
	if head.buildID == nil && !f.space.sameBuild(head, img) {
		f.found.notUsed(m.path, "%s: its program headers differ from those of %s in the core: another build; not used", img.Path, m.path)
		return false
	}
	biases := f.space.biases(m, img)
	for _, bias := range biases {
		f.modules.add(m.path, img, bias)
	}
	if len(biases) == 0 {
		f.found.notUsed(m.path, "%s: its segments do not fit the mappings of %s; not used", img.Path, m.path)
	}
	return len(biases) > 0
}

// sameBuild compares the entry point and the program headers that were captured
// with those of a file, for the many embedded toolchains that write no build ID.
// Stripping changes neither; another build changes at least a segment's size.
func (s *space) sameBuild(head *mappedELF, img *image.Image) bool {
	phdr := elf.LinkInfoOf(img).PHdr
	want := img.Segments.Bytes(phdr.Addr)
	want = want[:min(uint64(len(want)), phdr.Size, maxMappedPhdr*56)]
	if !head.found || len(want) == 0 {
		return true
	}
	got := make([]byte, len(want))
	n := s.captured.Read(head.bias+phdr.Addr, got)
	return head.entry == img.Entry && bytes.Equal(got[:n], want[:n])
}

// grouped collects the mappings of each path, in order of their first address.
func grouped(files []fileMapping) (groups []mapping) {
	at := make(map[string]int)
	for _, f := range files {
		i, ok := at[f.path]
		if !ok {
			i = len(groups)
			at[f.path] = i
			groups = append(groups, mapping{path: f.path})
		}
		groups[i].parts = append(groups[i].parts, f)
	}
	return groups
}

// mainPath is the path that the program headers of the executable are mapped from.
func (n *notes) mainPath() string {
	for _, key := range []uint64{atPhdr, atEntry} {
		addr, ok := n.auxv[key]
		for _, f := range n.files {
			if ok && f.start <= addr && addr < f.end {
				return f.path
			}
		}
	}
	return ""
}

// isCode tells binaries from data files (locales, fonts, databases): a part is
// executable, or may be and the first page is a binary's, or executable memory lies between the parts.
func (s *space) isCode(m *mapping, head *mappedELF) bool {
	return slices.ContainsFunc(m.parts, s.executable) || head.found && (slices.ContainsFunc(m.parts, s.leftOut) || s.codeBetween(m))
}

// codeBetween tells whether executable memory lies between two mappings of a file, close by: a program's text that was moved
// to huge pages (node --use-largepages, BOLT's hugify) is in no file any more.
func (s *space) codeBetween(m *mapping) bool {
	for i := 1; i < len(m.parts); i++ {
		if end := m.parts[i-1].end; end < m.parts[i].start && s.executable(fileMapping{start: end}) {
			return true
		}
	}
	return false
}

// leftOut tells whether nothing is said of a mapping's rights. The kernel writes
// a program header for every mapping; GDB's gcore none for what the file holds
// unchanged, which is the code of most programs.
func (s *space) leftOut(f fileMapping) bool {
	_, ok := s.mapped().PermAt(f.start)
	return !ok
}

// executable tells whether a mapping is: by the program header of its address.
func (s *space) executable(f fileMapping) bool {
	p, ok := s.mapped().PermAt(f.start)
	return ok && p&target.PermExec != 0
}

// mappedHeader reads the captured first page of a mapped file.
func (s *space) mappedHeader(m *mapping) (head mappedELF) {
	for _, f := range m.parts {
		if f.off == 0 {
			return s.readMapped(f.start)
		}
	}
	return head
}

// addUnknown makes a module without an image, so that frames in it have a name.
// Its bias is that of the captured ELF header.
func (f *finder) addUnknown(m *mapping, head *mappedELF) {
	mod := &target.Module{
		Name: m.path, Bias: head.bias, BuildID: bytes.Clone(head.buildID),
		Range: target.Range{Lo: m.parts[0].start, Hi: m.parts[0].end},
	}
	for _, p := range m.parts {
		mod.Lo, mod.Hi = min(mod.Lo, p.start), max(mod.Hi, p.end)
	}
	f.modules.list = append(f.modules.list, mod)
}
