package elfcore

import (
	"fmt"
	"sort"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/image/elf"
	"github.com/backsight/backsight/target"
)

// fromLinker finds the modules of a core without NT_FILE: the executable by the
// auxiliary vector, the others by the dynamic linker's list.
func (c *core) fromLinker() {
	img := c.mainProgram("", nil)
	if img == nil {
		c.notFound(c.argv0(), 0, "%s: the executable%s was not found; name it with --exe", c.name, quoted(c.notes.command))
		return
	}
	bias, ok := c.mainBias(img)
	if !ok {
		return
	}
	c.add(img.Path, img, bias)
	// MIPS maps .dynamic read-only, so that it is in the file and not in the core.
	c.mem = c.memory(c.modules)
	c.linkMap(img, bias)
	c.interpreter(elf.LinkInfoOf(img).Interp)
}

func quoted(command string) string {
	if command == "" {
		return ""
	}
	return fmt.Sprintf(" of %q", command)
}

// mainBias is where the executable was loaded. One that the core contradicts is
// another build.
func (c *core) mainBias(img *image.Image) (bias uint64, ok bool) {
	bias, ok = c.placed(img)
	if !ok {
		c.notUsed(img.Path, "%s: its entry point %#x does not fit the core's %#x: another build; not used",
			img.Path, img.Entry, c.notes.auxv[atEntry])
	}
	return bias, ok
}

// placed compares the addresses that the kernel passed to the program, of its
// program headers and its entry point, with those that a file states.
func (c *core) placed(img *image.Image) (bias uint64, ok bool) {
	phdr, hasPhdr := c.notes.auxv[atPhdr]
	entry, hasEntry := c.notes.auxv[atEntry]
	stated := elf.LinkInfoOf(img).PHdr
	hasPhdr = hasPhdr && stated.Size > 0
	mask := c.arch.AddrMask()
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
	maxDynamic = 512  // entries of a dynamic section
	maxLinked  = 4096 // modules of a program
	// maxSegments is how many mappings without a gap may belong to one module.
	maxSegments = 16
)

// debugStruct is the address of r_debug, from the dynamic section of the
// executable.
func (c *core) debugStruct(img *image.Image, bias uint64) (addr uint64, ok bool) {
	dynamic := elf.LinkInfoOf(img).Dynamic
	if dynamic.Size == 0 {
		return 0, false
	}
	w := uint64(c.arch.AddrSize)
	at := bias + dynamic.Addr
	for range maxDynamic {
		tag, ok1 := c.mem.Word(at)
		val, ok2 := c.mem.Word(at + w)
		if !ok1 || !ok2 || tag == dtNull {
			break
		}
		switch {
		case tag == dtDebug && val != 0:
			return val, true
		case tag == dtMIPSRldMap && c.header.machine == emMIPS:
			addr, ok = c.mem.Word(val)
		case tag == dtMIPSRldMapRel && c.header.machine == emMIPS:
			addr, ok = c.mem.Word(at + val)
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
// The first entry is the executable.
func (c *core) linkMap(exe *image.Image, bias uint64) {
	debug, ok := c.debugStruct(exe, bias)
	if !ok {
		debug, ok = c.linkerSymbol(exe)
	}
	if !ok {
		if elf.LinkInfoOf(exe).Interp != "" {
			c.issue("%s: the dynamic linker's list of modules is not in the core; shared libraries are unknown", c.name)
		}
		return
	}
	w := uint64(c.arch.AddrSize)
	at, _ := c.mem.Word(debug + w)
	seen := make(map[uint64]bool)
	for n := 0; at != 0 && n < maxLinked && !seen[at]; n++ {
		seen[at] = true
		var m [4]uint64
		for i := range m {
			v, ok := c.mem.Word(at + uint64(i)*w)
			if !ok {
				c.issue("%s: the dynamic linker's list of modules breaks off at %#x", c.name, at)
				return
			}
			m[i] = v
		}
		if n > 0 {
			c.linked(c.cstring(m[1]), m[0], m[2])
		}
		at = m[3]
	}
}

// linkerSymbol finds r_debug by the dynamic linker's own symbol, for executables
// whose dynamic section was not captured.
func (c *core) linkerSymbol(exe *image.Image) (uint64, bool) {
	base, interp := c.notes.auxv[atBase], elf.LinkInfoOf(exe).Interp
	if base == 0 || interp == "" {
		return 0, false
	}
	img, _ := c.env.Files.Find(c.wanted(interp, nil))
	if img == nil {
		return 0, false
	}
	lo, _ := img.Bounds()
	sym, ok := img.SymbolNamed("_r_debug")
	return base - lo&^0xfff + sym.Addr, ok
}

// linked adds one module of the list: loaded at bias, its dynamic section at
// dynamic, which tells another build where there is no build ID.
func (c *core) linked(name string, bias, dynamic uint64) {
	if name == "" || bias == c.notes.auxv[atSysinfoEhdr] && bias != 0 {
		return // an entry without a file; the vDSO
	}
	img := c.find(name, nil)
	if img == nil {
		c.notFound(name, bias, "%s, loaded at %#x: not found", name, bias)
		c.addUnlinked(name, bias)
		return
	}
	if own := elf.LinkInfoOf(img).Dynamic; own.Size > 0 && (bias+own.Addr)&c.arch.AddrMask() != dynamic {
		c.notUsed(name, "%s: its dynamic section does not fit the core's: another build; not used", img.Path)
		return
	}
	c.add(name, img, bias)
}

// addUnlinked makes a module without an image, so that frames in it have a name:
// from its bias, where shared libraries begin, to the next gap. What else lies
// before that gap are its own variables, or other modules, which begin later and
// are found first.
func (c *core) addUnlinked(name string, bias uint64) {
	m := &target.Module{Name: name, Bias: bias, Range: target.Range{Lo: bias, Hi: bias}}
	segs := c.mapped().Segments()
	i := sort.Search(len(segs), func(i int) bool { return segs[i].Addr >= bias })
	for n := 0; n < maxSegments && i < len(segs) && segs[i].Addr == m.Hi; n++ {
		m.Hi += segs[i].Size()
		i++
	}
	if m.Lo < m.Hi {
		c.modules = append(c.modules, m)
	}
}

// interpreter adds the dynamic linker at AT_BASE, unless its own list had it.
func (c *core) interpreter(name string) {
	base := c.notes.auxv[atBase]
	if base == 0 || name == "" {
		return
	}
	for _, m := range c.modules {
		if m.Contains(base) {
			return
		}
	}
	if img := c.find(name, nil); img != nil {
		lo, _ := img.Bounds()
		c.add(name, img, base-lo&^0xfff)
	}
}
