package elf

import (
	"cmp"
	"slices"
	"sort"
)

// resolver is a word to be filled with the address that the function at an image address returns:
// that of the best implementation of an indirect function for the processor.
type resolver struct{ addr, at uint64 }

// Resolver is the function that says what the dynamic linker stores at addr.
func (c *container) Resolver(addr uint64) (uint64, bool) {
	m := importsIn(c)
	i, ok := slices.BinarySearchFunc(m.resolvers, addr, func(r resolver, a uint64) int { return cmp.Compare(r.addr, a) })
	if !ok {
		return 0, false
	}
	return m.resolvers[i].at, true
}

// addResolver adds a resolver and tells whether there was room.
func (m *imports) addResolver(addr, at uint64) bool {
	if !m.left.Draw(1) {
		return false
	}
	m.resolvers = append(m.resolvers, resolver{addr, at})
	return true
}

func (m *imports) sortResolvers() {
	sort.SliceStable(m.resolvers, func(i, j int) bool { return m.resolvers[i].addr < m.resolvers[j].addr })
	m.resolvers = slices.Clip(m.resolvers)
}

// resolves tells whether a type of relocation stores what a resolver returns.
func (e *encoding) resolves(typ uint32) bool {
	switch e.machine {
	case em386:
		return typ == r386Irelative
	case emX86_64:
		return typ == rX8664Irelative
	case emARM:
		return typ == rARMIrelative
	case emAArch64:
		return typ == rAArch64Irelative
	case emRISCV:
		return typ == rRISCVIrelative
	}
	return false
}
