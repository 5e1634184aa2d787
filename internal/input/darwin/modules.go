package darwin

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/macho"
	"github.com/backsight/backsight/target"
)

// Modules makes a module of each binary. Where the binary's file is found, the module has the
// image. The issues tell which files were not found or not used.
func Modules(files *input.Files, arch *cpu.Arch, binaries []Binary) (modules []*target.Module, issues []target.Issue) {
	f := NewFinder(files, arch)
	for i := range binaries[:min(len(binaries), maxBinaries)] {
		b := &binaries[i]
		img, more := f.Find(b)
		if img != nil {
			bias := b.Base - macho.IdentityOf(img).Header
			modules, issues = append(modules, target.NewModule(b.Name, img, bias)), append(issues, more...)
			continue
		}
		m := &target.Module{Name: b.Name, Range: target.Range{Lo: b.Base, Hi: b.Base + b.Size}, Bias: b.Base, BuildID: b.UUID}
		if m.Lo < m.Hi {
			modules = append(modules, m)
		}
	}
	return modules, issues
}

// Finder finds the binaries of one capture.
type Finder struct {
	files  *input.Files
	arch   *cpu.Arch
	byUUID map[string]string // paths of what the user named, and of dSYMs; nil: not listed yet
}

// NewFinder returns a Finder of binaries for a processor.
func NewFinder(files *input.Files, arch *cpu.Arch) *Finder { return &Finder{files: files, arch: arch} }

// Find opens a binary: the file of its name, else a file that the user named, whatever the file is
// called, else the binary's dSYM alone, which has names but no code. Where the UUID of the binary
// is known, only a file with that UUID is taken. The image is nil where no file fits.
func (f *Finder) Find(b *Binary) (img *image.Image, issues []target.Issue) {
	ref := input.BinaryRef{Name: b.Name, BuildID: b.UUID, Arch: f.arch}
	if b.Name != "" {
		if img, issues = f.files.Find(ref); img != nil && img.System == "darwin" {
			return img, issues
		}
	}
	if b.UUID == nil {
		return nil, issues
	}
	if f.byUUID == nil {
		f.list()
	}
	if path, ok := f.byUUID[string(b.UUID)]; ok {
		if img, damage := f.files.Use(path, ref); img != nil {
			return img, damage
		}
	}
	return nil, issues
}

// list fills byUUID with the first path of each UUID.
func (f *Finder) list() {
	f.byUUID = make(map[string]string)
	paths := []string{f.files.Exe()}
	for _, i := range f.files.Images() {
		paths = append(paths, i.Path)
	}
	for _, path := range append(paths, macho.DebugFiles(f.files.Disk().FS, f.files.DebugDirs())...) {
		for _, id := range macho.UUIDs(f.files.Disk().FS, path) {
			if _, known := f.byUUID[string(id)]; !known {
				f.byUUID[string(id)] = path
			}
		}
	}
}
