package cpu

// CodeAddresses is what addresses of code look like.
type CodeAddresses struct {
	// InsnAlign is the alignment of instructions in the narrowest ISA mode.
	InsnAlign uint64
	// ISABit: bit 0 of a code address is the ISA mode, not part of the address.
	// ModeOnly is set on CPUs that have only mode 1 (Cortex-M).
	ISABit   bool
	ModeOnly bool
	// StatusModeBit is the bit of the status register with the ISA mode, where there is
	// such a register.
	StatusModeBit uint
	// AddrBits are the sizes of address space above which a code pointer may hold a
	// signature, the largest first; nil: it holds none. Which of them applies, a
	// capture tells or nobody.
	AddrBits []uint8
}

// InsnAlignIn is the alignment of instructions in one ISA mode: the instructions of
// mode 0 have four bytes wherever there is a second, denser mode (ARM, MIPS).
func (c *CodeAddresses) InsnAlignIn(mode Mode) uint64 {
	if c.ISABit && !c.ModeOnly && mode == 0 {
		return 4
	}
	return c.InsnAlign
}

// NeverCode tells whether nothing can run at an address, wherever binaries are mapped: on
// Cortex-M, at 0 lies the initial stack pointer, the first word of the vector table (DDI
// 0403 B1.5.3), and the table is part of the text that linkers call executable.
func (c *CodeAddresses) NeverCode(pc uint64) bool { return c.ModeOnly && pc == 0 }
