package elf

// Resolver is the function that says what the dynamic linker stores at addr.
func (c *container) Resolver(addr uint64) (uint64, bool) { return importsIn(c).chosen.at(addr) }

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
