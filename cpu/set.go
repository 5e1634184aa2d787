package cpu

import "math/bits"

// Set is the list of processors that a program knows.
type Set []*Arch

// ByELF finds the ABI of an ELF file. profile is the ARM architecture profile
// that the build attributes tell, 0 where they tell none. The match that names
// this profile wins, then the one with the most flag bits, then the first.
func (s Set) ByELF(machine uint16, class uint8, bigEndian bool, flags uint32, profile byte) (*Arch, bool) {
	var best *Arch
	for _, a := range s {
		m := a.ELF
		if m.Machine != machine || m.Class != class || a.BigEndian != bigEndian || flags&m.Mask != m.Flags {
			continue
		}
		if m.Profile != 0 && m.Profile != profile {
			continue
		}
		if best == nil || m.weight() > best.ELF.weight() {
			best = a
		}
	}
	return best, best != nil
}

// ByMachO finds the ABI of a Mach-O file. Of several, the first in the list counts.
func (s Set) ByMachO(t MachOType) (*Arch, bool) {
	for _, a := range s {
		if a.MachO == t && t != 0 {
			return a, true
		}
	}
	return nil, false
}

// weight orders matching entries by how specific they are.
func (m ELFMatch) weight() int {
	n := bits.OnesCount32(m.Mask)
	if m.Profile != 0 {
		n += 64
	}
	return n
}

// ByName finds an ABI by the words of the snapshot format. An empty abi matches
// the CPU's first entry in the list.
func (s Set) ByName(name, abi string, bigEndian bool) (*Arch, bool) {
	for _, a := range s {
		if a.Name == name && a.BigEndian == bigEndian && (abi == "" || a.ABI == abi) {
			return a, true
		}
	}
	return nil, false
}

// ELFMatch recognises an ABI by the ELF header: e_machine, class, data and the
// bits of e_flags under Mask; ARM files also by the architecture profile. More
// specific matches (the exact profile, then more mask bits) win.
type ELFMatch struct {
	Machine     uint16
	Class       uint8 // 1 = 32-bit, 2 = 64-bit
	Mask, Flags uint32
	// Profile is the ARM build attributes' Tag_CPU_arch_profile ('A', 'R', 'M');
	// 0 = any.
	Profile byte
	// ModeFlags are the bits of e_flags one of which announces code of mode 1; 0:
	// any program may have some.
	ModeFlags uint32
}

// MachOType is the processor of a Mach-O file, the header's cputype (mach/machine.h). Subtypes
// tell instruction sets apart that one decoder reads (arm64 and arm64e).
type MachOType uint32
