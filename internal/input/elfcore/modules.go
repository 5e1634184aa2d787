package elfcore

import (
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
	if len(n.files) == 0 {
		f.unnamed()
	}
	return f.modules.list, f.binaries.arch
}

// userImages adds the binaries of --image that no module uses yet.
func (f *finder) userImages() {
	list, issues := f.binaries.files.NamedModules(f.modules.list, f.binaries.arch)
	f.modules.list, f.found.list = append(f.modules.list, list...), append(f.found.list, issues...)
}

// vdso adds the kernel's shared object.
func (f *finder) vdso() {
	base := f.notes.auxv[atSysinfoEhdr]
	if base == 0 {
		return
	}
	m, err := f.binaries.files.VDSO(f.space.captured, base)
	if err != nil {
		f.found.capture(f.name, "%s: vDSO: %v", f.name, err)
	}
	if m != nil {
		f.modules.list = append(f.modules.list, m)
	}
}

// unnamed makes modules of the code that the core neither holds nor says the file of; none has a name but the executable, which the
// kernel told the entry point of. Until version 3.7, Linux wrote no NT_FILE; where the executable is not at hand, nothing leads to
// the dynamic linker's list:
//
//	LOAD  0x0061f000  FileSiz 0       MemSiz 0x153000  R E    libc, which a return address may lead to
//	LOAD  0x00a3d000  FileSiz 0x1000  MemSiz 0x1000    R E    [vdso]
//	LOAD  0x08048000  FileSiz 0       MemSiz 0x5000    R E    AT_ENTRY is 0x8048790
func (f *finder) unnamed() {
	known := len(f.modules.list)
	for _, p := range f.space.loads {
		at := target.RangeOf((p.vaddr+p.filesz)&f.space.arch.AddrMask(), p.memsz-min(p.filesz, p.memsz))
		if p.flags&(pfX|pfW) != pfX || at.Lo >= at.Hi {
			continue
		}
		m := &target.Module{Range: at, Bias: at.Lo}
		if at.Contains(f.notes.auxv[atEntry]) {
			m.Name = f.notes.argv0()
		}
		if !slices.ContainsFunc(f.modules.list[:known], func(m *target.Module) bool { return m.Lo < at.Hi && at.Lo < m.Hi }) {
			f.modules.list = append(f.modules.list, m)
		}
	}
}
