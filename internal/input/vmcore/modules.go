package vmcore

import (
	"bytes"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/kallsyms"
	"github.com/backsight/backsight/target"
)

// loaded is a module that the kernel has loaded.
type loaded struct {
	name  string
	at    uint64       // struct module
	whole target.Range // of all sections
	text  target.Range
	table *kallsyms.Table
}

// moduleReader reads what the kernel knows of modules.
type moduleReader struct {
	arch   *cpu.Arch
	memory *target.Memory // the kernel's address space
}

// modules finds the modules that the kernel has loaded, with their code as it lies in
// memory.
func (r moduleReader) modules(k *kernelImage) (list []*target.Module) {
	if k.module == nil {
		return nil
	}
	for _, m := range r.list(k) {
		content := bytesAt(r.memory, m.whole.Lo, int(m.whole.Hi-m.whole.Lo))
		n := min(m.text.Hi-m.whole.Lo, uint64(len(content)))
		img := image.New(image.Header{Path: m.name, Arch: r.arch, OneMode: k.module.Image.OneMode, Segments: []image.Segment{
			{Addr: m.whole.Lo, Size: n, Data: content[:n], Read: true, Exec: true},
			{Addr: m.whole.Lo + n, Size: uint64(len(content)) - n, Data: content[n:], Read: true, Write: true},
		}}, nil)
		if m.table != nil {
			img = kallsyms.Named(img, m.table)
		}
		list = append(list, target.NewModule(m.name, img, 0))
	}
	return list
}

// struct module (include/linux/module.h): state, list, name.
const (
	maxModules    = 4096
	maxModuleSize = 64 << 20
	// moduleSize is how much of struct module is looked at for pointers.
	moduleSize = 2048
	maxName    = 56
)

// list are the modules on the list whose head is somewhere in the kernel's data: a list of
// structures with a name behind the list head, most of which say where a module lies. Other lists
// have names there, too.
func (r moduleReader) list(k *kernelImage) (best []loaded) {
	word := uint64(r.arch.AddrSize)
	data := filled(r.memory, k.text.Hi, int(k.data.Hi-k.text.Hi))
	words := bin.New(data, r.arch.BigEndian)
	lowest := uint64(1) << (8*r.arch.AddrSize - 1)
	words.Skip(-k.text.Hi % word)
	for words.Len() >= 2*int(word) {
		head := k.text.Hi + uint64(words.Offset())
		next := words.Uint(int(word))
		if next < lowest || next%word != 0 || next == head || k.data.Contains(next) {
			continue
		}
		if found := r.named(head); len(found) > len(best) {
			if list := r.allLoaded(found); len(list) > len(best) {
				best = list
			}
		}
	}
	return best
}

// allLoaded are those of structures that are modules.
func (r moduleReader) allLoaded(structures []uint64) (list []loaded) {
	for _, at := range structures {
		if m, ok := r.loaded(at); ok {
			list = append(list, m)
		}
	}
	return list
}

// named are the modules on the list with a head, nil where it is none of modules.
func (r moduleReader) named(head uint64) (list []uint64) {
	word := uint64(r.arch.AddrSize)
	node := head
	for range maxModules {
		next, ok := r.memory.Word(node)
		prev, ok2 := r.memory.Word(next + word)
		if !ok || !ok2 || prev != node {
			return nil
		}
		if next == head {
			return list
		}
		if !isName(r.memory.CString(next+2*word, maxName)) {
			return nil
		}
		list = append(list, next-word)
		node = next
	}
	return list
}

// loaded reads what a struct module says of where its module lies. Until Linux 6.3 one range
// holds code and data, among them struct module itself, and its size is followed by that of the
// code; since 6.4 code has a range of its own (struct module_memory), which is the first near by that can be
// executed, and since 6.13 a bool, is_rox, may stand before its size.
func (r moduleReader) loaded(at uint64) (m loaded, ok bool) {
	m = loaded{name: r.memory.CString(at+3*uint64(r.arch.AddrSize), maxName), at: at}
	r.ranges(at, func(base, size, text uint64) bool {
		if size <= maxModuleSize && at-base < size && text > 0 && text <= size {
			m.whole = target.Range{Lo: base, Hi: base + size}
			m.text = target.Range{Lo: base, Hi: base + text}
		}
		return m.whole.Hi == 0
	})
	if m.whole.Hi == 0 {
		r.ranges(at, func(base, size, second uint64) bool {
			if size <= 1 {
				size = second
			}
			if perm, _ := r.memory.PermAt(base); perm&target.PermExec != 0 && base-at+nearModule < 2*nearModule && size-1 < maxModuleSize {
				m.whole = target.Range{Lo: base, Hi: base + size}
				m.text = m.whole
			}
			return m.whole.Hi == 0
		})
	}
	if m.whole.Hi == 0 {
		return m, false
	}
	m.table = r.names(&m)
	return m, true
}

// nearModule bounds the distance in bytes between the parts of one module, which all lie in the
// address range of modules. MIPS can execute all memory, where that shows unmapped.
const nearModule = 512 << 20

// ranges calls visit for the words of a struct module that can be where something lies, and the two numbers
// of 32 bits behind each, until visit returns false.
func (r moduleReader) ranges(at uint64, visit func(base, first, second uint64) bool) {
	word := uint64(r.arch.AddrSize)
	for off := 3*word + maxName; off < moduleSize; off += word {
		base, ok1 := r.memory.Word(at + off)
		first, ok2 := r.memory.Uint(at+off+word, 4)
		if !ok1 || !ok2 || base == 0 || base%pageSize != 0 {
			continue
		}
		if second, _ := r.memory.Uint(at+off+word+4, 4); !visit(base, first, second) {
			return
		}
	}
}

// names reads the symbols of a module: struct mod_kallsyms, to which struct module
// points, has the addresses of an ELF symbol table and of its strings.
func (r moduleReader) names(m *loaded) *kallsyms.Table {
	word := uint64(r.arch.AddrSize)
	for off := 3*word + maxName; off < moduleSize; off += word {
		p, ok := r.memory.Word(m.at + off)
		if !ok || p%word != 0 {
			continue
		}
		symtab, ok1 := r.memory.Word(p)
		count, ok2 := r.memory.Uint(p+word, 4)
		strtab, ok3 := r.memory.Word(p + 2*word)
		if !ok1 || !ok2 || !ok3 || count < 2 || count > 1<<20 || symtab%word != 0 {
			continue
		}
		if t := r.symbols(m, symtab, int(count), strtab); t != nil {
			return t
		}
	}
	return nil
}

// symbols reads an ELF symbol table out of memory. The first entry is empty, values are
// addresses.
func (r moduleReader) symbols(m *loaded, symtab uint64, count int, strtab uint64) *kallsyms.Table {
	size := 16
	if r.arch.AddrSize == 8 {
		size = 24
	}
	raw := bytesAt(r.memory, symtab, min(count, 1<<16)*size)
	var list []kallsyms.Symbol
	for i := 1; (i+1)*size <= len(raw); i++ {
		entry := bin.New(raw[i*size:], r.arch.BigEndian)
		name, value, info := entry.U32(), uint64(0), uint8(0)
		if size == 24 {
			info = entry.U8()
			entry.Skip(3)
			value = entry.U64()
		} else {
			value = uint64(entry.U32())
			entry.Skip(4)
			info = entry.U8()
		}
		const function = 2
		if info&0xf != function && !(info&0xf == 0 && m.text.Contains(value)) || !m.whole.Contains(value) {
			continue
		}
		if text := r.memory.CString(strtab+uint64(name), maxName); text != "" && !isLabel(text) {
			list = append(list, kallsyms.Symbol{Name: text, Addr: value, Kind: 't', Module: m.name})
		}
	}
	if len(list) == 0 || len(bytes.Trim(raw[:size], "\x00")) > 0 {
		return nil
	}
	return kallsyms.New(list)
}

// isLabel tells whether a symbol is no function but a mark that the assembler left (include/linux/module_symbol.h,
// is_mapping_symbol): modules of RISC-V have thousands, .L0, .LBB10455, since the linker may change distances.
func isLabel(name string) bool { return name[0] == '$' || strings.HasPrefix(name, ".L") }

// isName tells whether text can be the name of a module.
func isName(s string) bool {
	return len(s) > 1 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
