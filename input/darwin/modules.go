package darwin

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/image/macho"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// Modules are the binaries as modules, those whose files are found with their images.
func Modules(files *input.Files, arch *cpu.Arch, binaries []Binary) (modules []*target.Module, issues []target.Issue) {
	for i := range binaries[:min(len(binaries), maxBinaries)] {
		b := &binaries[i]
		img, more := Find(files, arch, b)
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

// Find opens a binary: the file of its name, else one that the user named, whatever it is called,
// else its dSYM alone, which has names but no code. The UUID decides where it is known. The image
// is nil where there is none that fits.
func Find(files *input.Files, arch *cpu.Arch, b *Binary) (img *image.Image, issues []target.Issue) {
	ref := input.BinaryRef{Name: b.Name, BuildID: b.UUID, Arch: arch}
	if b.Name != "" {
		if img, issues = files.Find(ref); img != nil && img.System == "darwin" {
			return img, issues
		}
	}
	if b.UUID == nil {
		return nil, issues
	}
	paths := []string{files.Exe()}
	for _, i := range files.Images() {
		paths = append(paths, i.Path)
	}
	for _, path := range append(paths, macho.DebugFiles(files.DebugDirs())...) {
		if path == "" {
			continue
		}
		if img, damage := files.Use(path, ref); img != nil {
			return img, damage
		}
	}
	return nil, issues
}
