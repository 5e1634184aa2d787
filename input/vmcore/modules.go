package vmcore

import (
	"bytes"

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

// modules finds the modules that the kernel has loaded, with their code as it lies in
// memory.
func (d *dump) modules(k kernelImage, memory *target.Memory) (list []*target.Module) {
	if k.module == nil {
		return nil
	}
	for _, at := range d.moduleList(k, memory) {
		m, ok := d.loaded(at, memory)
		if !ok {
			continue
		}
		content := bytesAt(memory, m.whole.Lo, int(m.whole.Hi-m.whole.Lo))
		n := min(m.text.Hi-m.whole.Lo, uint64(len(content)))
		img := image.New(image.Header{Path: m.name, Arch: d.arch, OneMode: k.module.Image.OneMode, Segments: []image.Segment{
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

// moduleList is the address of each struct module on the list whose head is somewhere in
// the kernel's data: a list of structures with a name behind the list head.
func (d *dump) moduleList(k kernelImage, memory *target.Memory) (best []uint64) {
	word := uint64(d.arch.AddrSize)
	data := filled(memory, k.text.Hi, int(k.data.Hi-k.text.Hi))
	r := bin.New(data, d.arch.BigEndian)
	lowest := uint64(1) << (8*d.arch.AddrSize - 1)
	r.Skip(-k.text.Hi % word)
	for r.Len() >= 2*int(word) {
		head := k.text.Hi + uint64(r.Offset())
		next := r.Uint(int(word))
		if next < lowest || next%word != 0 || next == head || k.data.Contains(next) {
			continue
		}
		if list := d.named(head, memory); len(list) > len(best) {
			best = list
		}
	}
	return best
}

// named are the modules on the list with a head, nil where it is none of modules.
func (d *dump) named(head uint64, memory *target.Memory) (list []uint64) {
	word := uint64(d.arch.AddrSize)
	node := head
	for range maxModules {
		next, ok := memory.Word(node)
		prev, ok2 := memory.Word(next + word)
		if !ok || !ok2 || prev != node {
			return nil
		}
		if next == head {
			return list
		}
		if !isName(cstring(memory, next+2*word)) {
			return nil
		}
		list = append(list, next-word)
		node = next
	}
	return list
}

func cstring(memory *target.Memory, at uint64) string {
	b := bytesAt(memory, at, maxName)
	return string(b[:max(bytes.IndexByte(b, 0), 0)])
}

// loaded reads what a struct module says of where its module lies. Until Linux 6.3 one range
// holds code and data, among them struct module itself; since 6.4 code has a range of its
// own, which is the first that can be executed. Both are address and size.
func (d *dump) loaded(at uint64, memory *target.Memory) (m loaded, ok bool) {
	word := uint64(d.arch.AddrSize)
	m = loaded{name: cstring(memory, at+3*word), at: at}
	for off := 3*word + maxName; off < moduleSize; off += word {
		base, ok1 := memory.Word(at + off)
		size, ok2 := memory.Uint(at+off+word, 4)
		if !ok1 || !ok2 || base == 0 || base%pageSize != 0 || size == 0 || size > maxModuleSize {
			continue
		}
		if at-base < size {
			text, _ := memory.Uint(at+off+word+4, 4)
			m.whole = target.Range{Lo: base, Hi: base + size}
			m.text = target.Range{Lo: base, Hi: base + min(size, text)}
			break
		}
		if perm, _ := memory.PermAt(base); perm&target.PermExec != 0 {
			m.whole = target.Range{Lo: base, Hi: base + size}
			m.text = m.whole
			break
		}
	}
	if m.whole.Hi == 0 || m.text.Hi == m.text.Lo {
		return m, false
	}
	m.table = d.moduleNames(m, memory)
	return m, true
}

// moduleNames reads the symbols of a module: struct mod_kallsyms, to which struct module
// points, has the addresses of an ELF symbol table and of its strings.
func (d *dump) moduleNames(m loaded, memory *target.Memory) *kallsyms.Table {
	word := uint64(d.arch.AddrSize)
	for off := 3*word + maxName; off < moduleSize; off += word {
		p, ok := memory.Word(m.at + off)
		if !ok || p%word != 0 {
			continue
		}
		symtab, ok1 := memory.Word(p)
		count, ok2 := memory.Uint(p+word, 4)
		strtab, ok3 := memory.Word(p + 2*word)
		if !ok1 || !ok2 || !ok3 || count < 2 || count > 1<<20 || symtab%word != 0 {
			continue
		}
		if t := d.symbols(m, memory, symtab, int(count), strtab); t != nil {
			return t
		}
	}
	return nil
}

// symbols reads an ELF symbol table out of memory. The first entry is empty, values are
// addresses.
func (d *dump) symbols(m loaded, memory *target.Memory, symtab uint64, count int, strtab uint64) *kallsyms.Table {
	size := 16
	if d.arch.AddrSize == 8 {
		size = 24
	}
	raw := bytesAt(memory, symtab, min(count, 1<<16)*size)
	var list []kallsyms.Symbol
	for i := 1; (i+1)*size <= len(raw); i++ {
		r := bin.New(raw[i*size:], d.arch.BigEndian)
		name, value, info := r.U32(), uint64(0), uint8(0)
		if size == 24 {
			info = r.U8()
			r.Skip(3)
			value = r.U64()
		} else {
			value = uint64(r.U32())
			r.Skip(4)
			info = r.U8()
		}
		const function = 2
		if info&0xf != function && !(info&0xf == 0 && m.text.Contains(value)) || !m.whole.Contains(value) {
			continue
		}
		if text := cstring(memory, strtab+uint64(name)); text != "" && text[0] != '$' {
			list = append(list, kallsyms.Symbol{Name: text, Addr: value, Kind: 't', Module: m.name})
		}
	}
	if len(list) == 0 || len(bytes.Trim(raw[:size], "\x00")) > 0 {
		return nil
	}
	return kallsyms.New(list)
}
