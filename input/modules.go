package input

import (
	"path"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/target"
)

// NamedModules are the modules of the binaries that the user named (--image) and that no module of list uses or is called like;
// one whose place the user stated may be called like another. The issues tell of files that are not used.
func (f *Files) NamedModules(list []*target.Module, arch *cpu.Arch) (modules []*target.Module, issues []target.Issue) {
	has := func(is func(m *target.Module) bool) bool {
		return slices.ContainsFunc(list, is) || slices.ContainsFunc(modules, is)
	}
	for _, n := range f.Images() {
		if !n.Placed && has(func(m *target.Module) bool { return m.Base() == path.Base(n.Path) }) {
			continue
		}
		img, more := f.Use(n.Path, BinaryRef{Name: n.Path, Arch: arch})
		issues = append(issues, more...)
		if img != nil && !has(func(m *target.Module) bool { return m.Image == img }) {
			modules = append(modules, target.NewModule(n.Path, img, n.Bias&arch.AddrMask()))
		}
	}
	return modules, issues
}

// maxVDSO bounds the kernel's shared object; it has one to four pages.
const maxVDSO = 256 << 10

// VDSO is the kernel's shared object, which no file has, out of captured memory at a target address; nil where nothing of it
// was captured.
func (f *Files) VDSO(captured *target.Memory, base uint64) (*target.Module, error) {
	data := captured.Bytes(base)
	if len(data) == 0 {
		return nil, nil
	}
	img, err := f.Parse("[vdso]", data[:min(len(data), maxVDSO)])
	if err != nil {
		return nil, err
	}
	img.Entry = 0 // no program begins there: i386's is __kernel_vsyscall, which is called
	lo, _ := img.Segments.Bounds()
	return target.NewModule("[vdso]", img, (base-lo)&img.Arch.AddrMask()), nil
}
