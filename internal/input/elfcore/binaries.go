package elfcore

import (
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/target"
)

// binaries opens the files that a core names.
type binaries struct {
	files    *input.Files
	arch     *cpu.Arch
	notes    *notes
	captured *target.Memory
	found    *problems
}

// wanted describes a binary of this core for the search of its file.
func (b *binaries) wanted(name string, buildID []byte) input.BinaryRef {
	return input.BinaryRef{Name: name, BuildID: buildID, Arch: b.arch}
}

// find opens a binary that the core names. A file that was found and not used is an issue.
func (b *binaries) find(name string, buildID []byte) *image.Image {
	return b.look(b.wanted(name, buildID))
}

// mapped opens a binary by the path that the kernel wrote, which begins at the root (fill_files_note, fs/binfmt_elf.c).
func (b *binaries) mapped(path string, buildID []byte) *image.Image {
	ref := b.wanted(path, buildID)
	ref.Absolute = true
	return b.look(ref)
}

func (b *binaries) look(ref input.BinaryRef) *image.Image {
	img, issues := b.files.Find(ref)
	if img == nil && b.notes.file != nil && strings.HasPrefix(ref.Name, "/") {
		if data, err := b.notes.file(ref.Name, maxRemote); err == nil {
			img, issues = b.files.Given(data, ref)
		}
	}
	if img == nil {
		b.found.list = append(b.found.list, issues...)
	}
	return img
}

// maxRemote bounds a binary that is read through a server.
const maxRemote = 256 << 20

// silently opens a binary that helps but is not needed: its absence is no issue.
func (b *binaries) silently(name string) *image.Image {
	img, _ := b.files.Find(b.wanted(name, nil))
	return img
}

// mainProgram opens the program's executable: the one that the user named, else
// the one that the core names. where is its path in the core, "" if unknown.
func (b *binaries) mainProgram(where string, buildID []byte) *image.Image {
	if exe := b.files.Exe(); exe != "" {
		img, issues := b.files.Use(exe, b.wanted(exe, buildID))
		b.found.list = append(b.found.list, issues...)
		if img != nil {
			b.adopt(img)
			return img
		}
	}
	if img := b.mapped(where, buildID); img != nil {
		b.adopt(img)
		return img
	}
	for _, name := range b.programNames(where) {
		if img := b.find(name, buildID); img != nil {
			b.adopt(img)
			return img
		}
	}
	return b.amongImages(buildID)
}

// amongImages is the binary of --image that the kernel's addresses fit, for cores
// whose program was renamed.
func (b *binaries) amongImages(buildID []byte) *image.Image {
	if _, ok := b.notes.auxv[atEntry]; !ok {
		return nil
	}
	for _, n := range b.files.Images() {
		img, _ := b.files.Use(n.Path, b.wanted(n.Path, buildID)) // issues: see userImages
		if img == nil || n.Placed {
			continue
		}
		if _, ok := b.placed(img); ok {
			b.adopt(img)
			return img
		}
	}
	return nil
}

// adopt takes the ABI of the executable, whose header knows variants of the
// instruction set that the core's does not.
func (b *binaries) adopt(img *image.Image) {
	if img.Arch.ABI == b.arch.ABI {
		b.arch = img.Arch
	}
}

// programNames are the names under which the executable may be known besides where, best
// first. psargs is argv joined by blanks, cut to 79 bytes; fname to 15.
func (b *binaries) programNames(where string) (names []string) {
	for _, n := range []string{b.captured.CString(b.notes.auxv[atExecFn], maxString), b.notes.argv0(), b.notes.fname} {
		known := n == "" || n == where
		for _, k := range names {
			known = known || k == n
		}
		if !known {
			names = append(names, n)
		}
	}
	return names
}

// argv0 is the program's name in its command line, as far as the core has it.
func (n *notes) argv0() string {
	name, _, _ := strings.Cut(n.command, " ")
	return name
}

// placed compares the addresses that the kernel passed to the program, of its
// program headers and its entry point, with those that a file states.
func (b *binaries) placed(img *image.Image) (bias uint64, ok bool) {
	phdr, hasPhdr := b.notes.auxv[atPhdr]
	entry, hasEntry := b.notes.auxv[atEntry]
	stated := elf.LinkInfoOf(img).PHdr
	hasPhdr = hasPhdr && stated.Size > 0
	mask := b.arch.AddrMask()
	byEntry := (entry - img.Entry) & mask
	if bias = byEntry; hasPhdr {
		bias = (phdr - stated.Addr) & mask
	}
	switch {
	case !hasPhdr && !hasEntry:
		return 0, true
	case hasPhdr && hasEntry && bias != byEntry:
		return 0, false
	}
	return bias, bias == 0 || img.Relocatable
}
