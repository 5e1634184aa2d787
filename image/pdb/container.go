package pdb

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// offset is an image address as a relative virtual address.
func (f *file) offset(addr uint64) (uint32, bool) {
	rva := addr - f.base
	return uint32(rva), rva <= 1<<32-1
}

// symbol names an address.
func (f *file) symbol(rva uint32, size uint32, name string) image.Symbol {
	addr, mode := f.arch.SplitCode(f.base + uint64(rva))
	return image.Symbol{Name: name, Addr: addr, Mode: mode, Size: uint64(size)}
}

// SymbolAt implements image.Container: the procedure, else the public symbol before. The latter is as the compiler mangled it.
func (f *file) SymbolAt(addr uint64) (image.Symbol, bool) {
	rva, ok := f.offset(addr)
	if !ok {
		return image.Symbol{}, false
	}
	m, p := f.find(rva)
	if p != nil {
		return f.symbol(p.rva, p.size, text(m.data, uint64(p.at)+uint64(p.name))), true
	}
	if p := f.publicAt(rva); p != nil && (m == nil || m.at(p.rva) == nil) { // a procedure ends before its padding
		return f.symbol(p.rva, 0, f.publicName(p)), true
	}
	return image.Symbol{}, false
}

// SymbolNamed implements image.Container, by public symbols.
func (f *file) SymbolNamed(name string) (image.Symbol, bool) {
	list := f.publicSymbols()
	for i := range list {
		if f.publicName(&list[i]) == name {
			return f.symbol(list[i].rva, 0, name), true
		}
	}
	return image.Symbol{}, false
}

// Functions implements image.Container. Modules are not kept: most are not asked for again.
func (f *file) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	each := func(rva, size uint32) bool {
		addr, mode := f.arch.SplitCode(f.base + uint64(rva))
		return yield(addr, mode, uint64(size))
	}
	for n := range f.modules {
		for _, p := range f.readModule(n).procedures {
			if !each(p.rva, p.size) {
				return
			}
		}
	}
	for _, p := range f.publicSymbols() {
		if !each(p.rva, 0) {
			return
		}
	}
}

// LineAt is the place of an address in the source, with the calls that were inlined there.
func (f *file) LineAt(addr uint64) (l image.SourceLine, ok bool) {
	rva, ok := f.offset(addr)
	if !ok {
		return l, false
	}
	m, p := f.find(rva)
	if m == nil {
		return l, false
	}
	l.SourcePlace, ok = f.lineAt(m, rva)
	if p != nil {
		l.Inlines = f.inlined(m, p, rva)
	}
	return l, ok || l.Inlines != nil
}

// Section implements image.Container.
func (f *file) Section(string) (image.Section, bool) { return image.Section{}, false }
