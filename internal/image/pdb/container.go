package pdb

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// offset is an image address as a relative virtual address of the source.
func (f *file) offset(addr uint64) (uint32, bool) {
	rva := addr - f.base
	if rva > 1<<32-1 {
		return 0, false
	}
	return f.toSource.find(uint32(rva))
}

// symbol names the function of an image address, which is in the source at rva.
func (f *file) symbol(addr uint64, rva, size uint32, name string) image.Symbol {
	rva, size = f.placed(rva, size, uint32(addr-f.base))
	begin, mode := f.arch.SplitCode(f.base + uint64(rva))
	return image.Symbol{Name: name, Addr: begin, Mode: mode, Size: uint64(size)}
}

// SymbolAt implements image.Container: the procedure, else the public symbol before. The latter is as the compiler mangled it.
func (f *file) SymbolAt(addr uint64) (image.Symbol, bool) {
	rva, ok := f.offset(addr)
	if !ok {
		return image.Symbol{}, false
	}
	m, p := f.find(rva)
	if p != nil {
		return f.symbol(addr, p.rva, p.size, scoped(text(m.data, uint64(p.at)+uint64(p.name)))), true
	}
	if p := f.publicAt(rva); p != nil && (m == nil || m.at(p.rva) == nil) { // a procedure ends before its padding
		return f.symbol(addr, p.rva, 0, f.publicName(p)), true
	}
	return image.Symbol{}, false
}

// SymbolNamed implements image.Container, by public symbols.
func (f *file) SymbolNamed(name string) (image.Symbol, bool) {
	list := f.publicSymbols()
	for i := range list {
		if at, ok := f.fromSource.find(list[i].rva); ok && f.publicName(&list[i]) == name {
			return f.symbol(f.base+uint64(at), list[i].rva, 0, name), true
		}
	}
	return image.Symbol{}, false
}

// Functions implements image.Container. Modules are not kept: most are not asked for again.
func (f *file) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	each := func(rva, size uint32) bool {
		at, ok := f.fromSource.find(rva)
		if !ok {
			return true
		}
		at, size = f.placed(rva, size, at)
		addr, mode := f.arch.SplitCode(f.base + uint64(at))
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
