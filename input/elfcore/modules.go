package elfcore

import (
	"path"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// modules are the binaries that were mapped, as they are found.
type modules struct {
	list []*target.Module
	mask uint64 // of addresses
}

// add makes a module of an image at a bias.
func (m *modules) add(name string, img *image.Image, bias uint64) {
	m.list = append(m.list, target.NewModule(name, img, bias&m.mask))
}

func (m *modules) contain(addr uint64) bool {
	return slices.ContainsFunc(m.list, func(m *target.Module) bool { return m.Contains(addr) })
}

func (m *modules) use(img *image.Image) bool {
	return slices.ContainsFunc(m.list, func(m *target.Module) bool { return m.Image == img })
}

// name tells whether a module has this base name.
func (m *modules) name(base string) bool {
	return slices.ContainsFunc(m.list, func(m *target.Module) bool { return path.Base(m.Name) == base })
}

// finder finds which binaries were mapped where.
type finder struct {
	name     string // of the core
	notes    *notes
	space    *space
	binaries binaries
	modules  modules
	found    *problems
}

// findModules finds which files were mapped where, from what tells most: the
// table of file mappings, else the program itself and its dynamic linker's list.
// Binaries that the user placed come last and the vDSO is always in memory. The
// program's executable may know its processor better than the core does.
func findModules(s *space, n *notes, files *input.Files, found *problems) ([]*target.Module, *cpu.Arch) {
	f := finder{
		name: s.file.name, notes: n, space: s, found: found, modules: modules{mask: s.arch.AddrMask()},
		binaries: binaries{files: files, arch: s.arch, notes: n, captured: s.captured, found: found},
	}
	if len(n.files) > 0 {
		f.fromMappings()
	} else {
		f.fromLinker()
	}
	f.userImages()
	f.vdso()
	f.jitted()
	return f.modules.list, f.binaries.arch
}

// userImages adds the binaries of --image that no module uses yet.
func (f *finder) userImages() {
	for _, n := range f.binaries.files.Images() {
		if !n.Placed && f.modules.name(path.Base(n.Path)) {
			continue
		}
		img, issues := f.binaries.files.Use(n.Path, f.binaries.wanted(n.Path, nil))
		f.found.list = append(f.found.list, issues...)
		if img != nil && !f.modules.use(img) {
			f.modules.add(n.Path, img, n.Bias)
		}
	}
}

// maxVDSO bounds the kernel's shared object; it has one to four pages.
const maxVDSO = 256 << 10

// vdso parses the kernel's shared object out of the captured memory. It exists
// in no file.
func (f *finder) vdso() {
	base := f.notes.auxv[atSysinfoEhdr]
	if base == 0 {
		return
	}
	data := f.space.captured.Bytes(base)
	data = data[:min(len(data), maxVDSO)]
	if len(data) == 0 {
		return
	}
	img, err := f.binaries.files.Parse("[vdso]", data)
	if err != nil {
		f.found.capture(f.name, "%s: vDSO: %v", f.name, err)
		return
	}
	img.Entry = 0 // no program begins there: i386's is __kernel_vsyscall, which is called
	lo, _ := img.Segments.Bounds()
	f.modules.add("[vdso]", img, base-lo)
}
