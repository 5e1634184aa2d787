package codetest

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// container is what a program's file tells beside its segments.
type container struct {
	program   Program
	arch      *cpu.Arch
	functions map[uint64]string
	end       uint64 // of the text
}

func (c *container) Section(name string) (image.Section, bool) {
	addr, ok := c.program.Sections[name]
	return image.Section{Name: name, Addr: addr, Data: c.program.data(c.arch, addr)}, ok
}

// SymbolAt finds the nearest function at or below addr, as where symbols have no size.
func (c *container) SymbolAt(addr uint64) (s image.Symbol, ok bool) {
	for start, name := range c.functions {
		if start <= addr && (!ok || start > s.Addr) {
			s, ok = image.Symbol{Name: name, Addr: start, Mode: c.program.Mode, Exported: c.program.Symbols == Exports}, true
		}
	}
	return s, ok
}

// FunctionAt bounds the function of addr where symbols have sizes: each ends where the next begins, or the text does.
func (c *container) FunctionAt(addr uint64) (lo, hi uint64, mode cpu.Mode, ok bool) {
	s, found := c.SymbolAt(addr)
	if !found || c.program.Symbols != Sized || addr >= c.end {
		return 0, 0, 0, false
	}
	hi = c.end
	for start := range c.functions {
		if start > addr {
			hi = min(hi, start)
		}
	}
	return s.Addr, hi, s.Mode, true
}

func (c *container) SymbolNamed(name string) (image.Symbol, bool) {
	for addr, n := range c.functions {
		if n == name {
			return image.Symbol{Name: name, Addr: addr, Mode: c.program.Mode}, true
		}
	}
	return image.Symbol{}, false
}

func (c *container) Functions(yield func(addr uint64, mode cpu.Mode, size uint64) bool) {
	for addr := range c.functions {
		if !yield(addr, c.program.Mode, 0) {
			return
		}
	}
}

func (c *container) Import(addr uint64) (string, bool) {
	name, ok := c.program.Imports[addr]
	return name, ok
}

func (c *container) Linked(addr uint64) bool { return slices.Contains(c.program.Linked, addr) }

func (c *container) Sealed(addr uint64) bool { return slices.Contains(c.program.Sealed, addr) }

func (c *container) Resolver(addr uint64) (uint64, bool) {
	at, ok := c.program.Resolvers[addr]
	return at, ok
}

func (c *container) Close() error { return nil }

// rebased is a container whose relocations list addresses.
type rebased struct{ *container }

func (c rebased) Rebased(yield func(value uint64) bool) bool {
	for _, v := range c.program.Rebased {
		if !yield(v) {
			break
		}
	}
	return true
}
