package minidump

import (
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/backsight/backsight/target"
)

const (
	// moduleSize is the size of MINIDUMP_MODULE.
	moduleSize = 108
	// maxModules bounds the binaries that are looked for on disk.
	maxModules = 1 << 12
)

// module is an entry of the list of modules.
type module struct {
	target.Range
	name string
	id   identity
	code string // target.Module.CodeID, of Windows
}

func (d *dump) readModule(r *bin.Reader) (m module) {
	base, size := r.U64(), r.U32()
	r.Skip(4) // checksum
	m.code = fmt.Sprintf("%08x%x", r.U32(), size)
	m.Range, m.name = target.RangeOf(base, uint64(size)), d.text(r.U32())
	r.Skip(52) // version
	m.id = d.identity(readLocation(r))
	return m
}

// listed calls yield for each module of the list.
func (d *dump) listed(yield func(*module) bool) {
	for r := range d.entries(moduleList, moduleSize) {
		if m := d.readModule(&r); !yield(&m) {
			return
		}
	}
}

// finder finds the binaries of a dump.
type finder struct {
	dump    *dump
	files   *input.Files
	arch    *cpu.Arch
	memory  *target.Memory // what the dump holds
	runs    []run          // the same, by address
	maps    []mapping
	program string // the name of the first module
	os      string
	list    []*target.Module
}

// modules makes a module of each binary of the list, and of those that the user placed. The processor is that of the
// program's file, whose header knows variants of the instruction set that a dump does not name.
func (f *finder) modules(listed iter.Seq[*module]) ([]*target.Module, *cpu.Arch) {
	room := budget.New("binaries", maxModules, 0)
	for m := range listed {
		if !room.Draw(1) {
			f.dump.issue("%v; the others are left out", room.Err())
			break
		}
		first := len(f.list) == 0
		if first {
			f.program = m.name
		}
		f.add(m, first)
	}
	list, issues := f.files.NamedModules(f.list, f.arch)
	f.list, f.dump.issues = append(f.list, list...), append(f.dump.issues, issues...)
	return f.list, f.arch
}

// add adds the module of an entry. A file that is listed twice, with its text and with its data, is one.
func (f *finder) add(m *module, main bool) {
	m.Lo &= f.arch.AddrMask()
	if isKernels(m.name) {
		f.addKernels(m)
		return
	}
	if img := f.find(m, main); img != nil {
		bias := f.bias(m, img)
		if !slices.ContainsFunc(f.list, func(o *target.Module) bool { return o.Image == img && o.Bias == bias }) {
			mod := target.NewModule(m.name, img, bias)
			mod.CodeID = f.codeID(m)
			f.list = append(f.list, mod)
		}
		return
	}
	r := extent(f.maps, m.Range)
	symbols, named := f.symbols(m)
	if symbols != nil {
		_, end := symbols.Segments.Bounds()
		r.Hi = max(r.Hi, r.Lo+end)
	}
	if r.Lo < r.Hi {
		f.list = append(f.list, &target.Module{Name: m.name, Range: r, Bias: r.Lo, BuildID: m.id.known(f.os), CodeID: f.codeID(m), Image: f.seen(r, symbols), Named: named})
	}
}

// codeID is what a module's binary is asked for by, "" but for Windows.
func (f *finder) codeID(m *module) string {
	if f.os != "Windows" {
		return ""
	}
	return m.code
}

// find opens a module's file: what the user says of the program, else the file of its name, of this build.
func (f *finder) find(m *module, main bool) *image.Image {
	name := pathOf(m.name)
	ref := input.BinaryRef{Name: name, BuildID: m.id.buildID, Arch: f.arch, AnyABI: main, Absolute: strings.HasPrefix(name, "/")}
	var img *image.Image
	var issues []target.Issue
	if exe := f.files.Exe(); main && exe != "" {
		img, issues = f.files.Use(exe, ref)
		f.dump.issues = append(f.dump.issues, issues...)
	}
	if img == nil {
		if img, issues = f.files.Find(ref); img == nil {
			f.dump.issues = append(f.dump.issues, issues...)
		}
	}
	if img != nil && !m.id.fits(img) {
		f.dump.issues = append(f.dump.issues, target.Issue{Kind: target.IssueNotUsed, Subject: m.name, Text: img.Path + ": another build than " + m.name + " of the dump; not used"})
		return nil
	}
	if img != nil && main {
		f.arch = img.Arch
	}
	return img
}

// pathOf is a path with the separators of Unix: that of Windows without its drive.
func pathOf(name string) string {
	if len(name) > 2 && name[1] == ':' && name[2] == '\\' {
		name = name[2:]
	}
	if strings.HasPrefix(name, "\\") {
		name = strings.ReplaceAll(name, "\\", "/")
	}
	return name
}

// bias is where an image was loaded. The list has the address of the file's first mapping as a rule; of any other the
// mappings tell.
func (f *finder) bias(m *module, img *image.Image) uint64 {
	off := uint64(0)
	if at, ok := mappedAt(f.maps, m.Lo); ok {
		off = at.off + (m.Lo - at.Lo)
	}
	for _, s := range img.Segments {
		if s.FileOff&^pageMask <= off && off < s.FileOff+uint64(len(s.Data)) {
			return (m.Lo - off - (s.Addr - s.FileOff)) & f.arch.AddrMask()
		}
	}
	lo, _ := img.Segments.Bounds()
	return (m.Lo - lo&^pageMask) & f.arch.AddrMask()
}

// pageMask are the bits of an address within the smallest page.
const pageMask = 4096 - 1

// isKernels tells whether a module is the kernel's shared object, which no file has: linux-gate.so, by Breakpad's name;
// [vdso], [vdso](0x7ffff7fc1000).
func isKernels(name string) bool {
	return strings.HasPrefix(name, "[vdso]") || strings.HasPrefix(path.Base(name), "linux-gate.so") || strings.HasPrefix(name, "linux-vdso.so")
}

// addKernels adds the kernel's shared object, as far as the memory of the dump has it.
func (f *finder) addKernels(m *module) {
	mod, err := f.files.VDSO(f.memory, m.Lo)
	if err != nil || mod == nil || mod.Image.Arch.Name != f.arch.Name {
		mod = &target.Module{Name: "[vdso]", Range: m.Range, Bias: m.Lo, BuildID: m.id.known(f.os)}
	}
	f.list = append(f.list, mod)
}
