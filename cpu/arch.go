// Package cpu is the vocabulary of processors: registers, the effects of
// instructions, and the descriptor of a processor ABI. It decides nothing; the
// packages below it (internal/cpu/mips, internal/cpu/arm, …) fill it with data and decoders, and
// everything else in Backsight reads it and never switches on a CPU.
package cpu

// Arch describes one processor ABI: a variant such as "mips o32 big-endian".
// All its fields are constant after construction; an *Arch is compared by
// pointer.
//
// Checklist for a new CPU: every field below, and of the embedded groups, is either set
// or wrong.
type Arch struct {
	Name      string // as in captures: mips, mips64, arm, aarch64, riscv32, riscv64, i386, x86_64
	ABI       string // where the CPU has several: o32, n32, n64; else ""
	BigEndian bool
	// AddrSize is the size of an address and of a return address in bytes;
	// RegSize that of a general register and of its save slot (n32: 4 and 8).
	AddrSize, RegSize int

	RegisterFile
	CodeAddresses
	Convention
	Surroundings

	// ELF says which ELF files have this ABI, MachO which Mach-O files: 0, none.
	ELF   ELFMatch
	MachO MachOType

	// Layouts of the register file in captures, by carrier.
	Layouts map[Carrier]Layout

	// Decoder is nil for a CPU that is only described.
	Decoder Decoder
}

// String names the ABI in a sentence: mips o32 big-endian.
func (a *Arch) String() string {
	s := a.Name
	if a.ABI != "" {
		s += " " + a.ABI
	}
	if a.BigEndian {
		return s + " big-endian"
	}
	return s + " little-endian"
}

// AddrMask has the bits that an address of this ABI can have.
func (a *Arch) AddrMask() uint64 {
	if a.AddrSize == 4 {
		return 0xffff_ffff
	}
	return ^uint64(0)
}

// SplitCode separates a code pointer, as found in a register or in memory, into
// the address and the ISA mode.
func (a *Arch) SplitCode(p uint64) (addr uint64, mode Mode) {
	p &= a.AddrMask()
	if !a.ISABit {
		return p, 0
	}
	mode = Mode(p & 1)
	if a.ModeOnly {
		mode = 1
	}
	return p &^ 1, mode
}

// PCOf returns the PC of a register file and its ISA mode: from the status
// register where there is one and it is known, else from bit 0.
func (a *Arch) PCOf(r *Registers) (pc uint64, mode Mode, ok bool) {
	v, ok := r.Lookup(a.PC)
	if !ok {
		return 0, 0, false
	}
	pc, mode = a.SplitCode(v)
	if st, ok := r.Lookup(a.Status); ok && a.ISABit && !a.ModeOnly {
		mode |= Mode(st >> a.StatusModeBit & 1)
	}
	return pc, mode, true
}
