package elfcore

import (
	"fmt"
	"sort"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/target"
)

// fromLinker finds the modules of a core without NT_FILE: the executable by the
// auxiliary vector, the others by the dynamic linker's list.
func (f *finder) fromLinker() {
	for _, l := range f.notes.linked {
		f.linked(l.Name, l.Bias, l.Dynamic)
	}
	head := f.space.readMapped(f.notes.auxv[atPhdr] &^ (headerPage - 1))
	img := f.binaries.mainProgram("", head.buildID)
	if img == nil {
		f.found.notFound(f.notes.argv0(), 0, "%s: the executable%s was not found; name it with --exe", f.name, quoted(f.notes.command))
		return
	}
	bias, ok := f.binaries.placed(img)
	if !ok || head.buildID == nil && !f.space.sameBuild(&head, img) {
		f.found.notUsed(img.Path, "%s: its entry point %#x does not fit the core's %#x: another build; not used",
			img.Path, img.Entry, f.notes.auxv[atEntry])
		return
	}
	f.modules.add(img.Path, img, bias)
	if len(f.notes.linked) == 0 {
		f.linkMap(img, bias)
	}
	f.interpreter(elf.LinkInfoOf(img).Interp)
}

func quoted(command string) string {
	if command == "" {
		return ""
	}
	return fmt.Sprintf(" of %q", command)
}

// Tags of the dynamic section that lead to the linker's struct r_debug (glibc's
// elf/elf.h). MIPS links .dynamic read-only, so that DT_DEBUG cannot be written:
// DT_MIPS_RLD_MAP has the address of a pointer to it, DT_MIPS_RLD_MAP_REL, in
// PIEs, that address relative to the entry's own.
const (
	dtNull          = 0
	dtDebug         = 21
	dtMIPSRldMap    = 0x70000016
	dtMIPSRldMapRel = 0x70000035
)

const (
	// headerPage is the least size of a page: program headers share the first one with the ELF header.
	headerPage = 4096

	maxDynamic = 512  // entries of a dynamic section
	maxLinked  = 4096 // modules of a program
	// maxSegments is how many mappings without a gap may belong to one module.
	maxSegments = 16
)

// debugStruct is the address of r_debug, from the dynamic section of an executable
// that is in mem at a bias. need is told of the words that lead there.
func debugStruct(mem *target.Memory, img *image.Image, bias uint64, need func(addr, n uint64)) (addr uint64, ok bool) {
	dynamic := elf.LinkInfoOf(img).Dynamic
	if dynamic.Size == 0 {
		return 0, false
	}
	w, mips := uint64(img.Arch.AddrSize), img.Arch.ELF.Machine == emMIPS
	at := bias + dynamic.Addr
	for range maxDynamic {
		tag, ok1 := mem.Word(at)
		val, ok2 := mem.Word(at + w)
		if !ok1 || !ok2 || tag == dtNull {
			break
		}
		switch {
		case tag == dtDebug && val != 0:
			return val, true
		case tag == dtMIPSRldMap && mips:
			need(val, w)
			addr, ok = mem.Word(val)
		case tag == dtMIPSRldMapRel && mips:
			need(at+val, w)
			addr, ok = mem.Word(at + val)
		}
		if addr != 0 && ok {
			return addr, true
		}
		at += 2 * w
	}
	return 0, false
}

// linkMap adds the modules of the dynamic linker's list (struct r_debug and struct
// link_map of glibc's elf/link.h, the same in musl and uClibc):
//
//	r_debug:  r_version, r_map, …       one word each
//	link_map: l_addr, l_name, l_ld, l_next, l_prev
//
// The first entry is the executable. Its pages count as memory: MIPS maps .dynamic
// read-only, so that the section is in the file and not in the core.
func (f *finder) linkMap(exe *image.Image, bias uint64) {
	mem := f.space.memory(f.modules.list)
	debug, ok := debugStruct(mem, exe, bias, f.space.file.need)
	dynamic, w := elf.LinkInfoOf(exe).Dynamic, uint64(exe.Arch.AddrSize)
	f.space.file.need(bias+dynamic.Addr, min(dynamic.Size, 2*maxDynamic*w))
	f.space.file.need(debug, 2*w)
	if !ok {
		debug, ok = f.linkerSymbol(exe)
	}
	if !ok {
		if elf.LinkInfoOf(exe).Interp != "" {
			f.found.capture(f.name, "%s: the dynamic linker's list of modules is not in the core; shared libraries are unknown", f.name)
		}
		return
	}
	at, _ := mem.Word(debug + w)
	seen := make(map[uint64]bool) // at most maxLinked
	for n := 0; at != 0 && n < maxLinked && !seen[at]; n++ {
		seen[at] = true
		var m [4]uint64
		for i := range m {
			v, ok := mem.Word(at + uint64(i)*w)
			if !ok {
				f.found.capture(f.name, "%s: the dynamic linker's list of modules breaks off at %#x", f.name, at)
				return
			}
			m[i] = v
		}
		name := mem.CString(m[1], maxString)
		f.space.file.need(at, uint64(len(m))*w)
		f.space.file.need(m[1], uint64(len(name))+1)
		if n > 0 {
			f.linked(name, m[0], m[2])
		}
		at = m[3]
	}
}

// linkerSymbol finds r_debug by the dynamic linker's own symbol, for executables
// whose dynamic section was not captured.
func (f *finder) linkerSymbol(exe *image.Image) (uint64, bool) {
	base, interp := f.notes.auxv[atBase], elf.LinkInfoOf(exe).Interp
	if base == 0 || interp == "" {
		return 0, false
	}
	img := f.binaries.silently(interp)
	if img == nil {
		return 0, false
	}
	lo, _ := img.Segments.Bounds()
	sym, ok := img.Symbols.Named("_r_debug")
	return base - lo&^0xfff + sym.Addr, ok
}

// linked adds one module of the list: loaded at bias, where most shared libraries have their ELF header and, if that was captured,
// their build ID; its dynamic section at dynamic, which tells another build where there is no build ID.
func (f *finder) linked(name string, bias, dynamic uint64) {
	if name == "" || bias == f.notes.auxv[atSysinfoEhdr] && bias != 0 {
		return // an entry without a file; the vDSO
	}
	img := f.binaries.find(name, f.space.readMapped(bias).buildID)
	if img == nil {
		f.found.notFound(name, bias, "%s, loaded at %#x: not found", name, bias)
		f.addUnlinked(name, bias)
		return
	}
	if own := elf.LinkInfoOf(img).Dynamic; own.Size > 0 && (bias+own.Addr)&img.Arch.AddrMask() != dynamic {
		f.found.notUsed(name, "%s: its dynamic section does not fit the core's: another build; not used", img.Path)
		return
	}
	f.modules.add(name, img, bias)
}

// addUnlinked makes a module without an image, so that frames in it have a name:
// from its bias, where shared libraries begin, to the next gap. What else lies
// before that gap are its own variables, or other modules, which begin later and
// are found first.
func (f *finder) addUnlinked(name string, bias uint64) {
	m := &target.Module{Name: name, Bias: bias, Range: target.Range{Lo: bias, Hi: bias}}
	segs := f.space.mapped().Segments()
	i := sort.Search(len(segs), func(i int) bool { return segs[i].Addr >= bias })
	for n := 0; n < maxSegments && i < len(segs) && segs[i].Addr == m.Hi; n++ {
		m.Hi += segs[i].Size()
		i++
	}
	if m.Lo < m.Hi {
		f.modules.list = append(f.modules.list, m)
	}
}

// interpreter adds the dynamic linker at AT_BASE, unless its own list had it.
func (f *finder) interpreter(name string) {
	base := f.notes.auxv[atBase]
	if base == 0 || name == "" || f.modules.contain(base) {
		return
	}
	if img := f.binaries.find(name, nil); img != nil {
		lo, _ := img.Segments.Bounds()
		f.modules.add(name, img, base-lo&^0xfff)
	}
}
