package cpu

// RegisterFile is the registers of a CPU, and which of them have a role that the
// instruction set or the ABI gives.
type RegisterFile struct {
	Regs []RegInfo // by Reg

	PC, SP Reg
	// FP is the conventional frame pointer, NoReg where there is no convention
	// worth following (MIPS).
	FP Reg
	// LR holds the return address on entry; NoReg where CallPushesRA.
	LR Reg
	// Status holds the ISA mode in bit StatusModeBit (ARM's CPSR.T); NoReg where
	// bit 0 of the PC tells or there are no modes.
	Status Reg
	// Zero is the register that reads as 0 (MIPS, RISC-V), else NoReg.
	Zero Reg
}

// RegInfo describes one register.
type RegInfo struct {
	// Names: the ABI name first, then the aliases that logs and captures use.
	Names []string
	// DWARF is the register's number in call frame information, -1 if none.
	DWARF int
	// Size in bytes.
	Size int
}

// RegByName finds a register by name or alias, as spelled in lower case.
func (f *RegisterFile) RegByName(name string) (Reg, bool) {
	for i := range f.Regs {
		for _, n := range f.Regs[i].Names {
			if n == name {
				return Reg(i), true
			}
		}
	}
	return NoReg, false
}

// RegByDWARF maps a DWARF register number.
func (f *RegisterFile) RegByDWARF(n uint64) (Reg, bool) {
	// Most numberings coincide with ours; look there first.
	if n < uint64(len(f.Regs)) && f.Regs[n].DWARF == int(n) {
		return Reg(n), true
	}
	for i := range f.Regs {
		if f.Regs[i].DWARF >= 0 && uint64(f.Regs[i].DWARF) == n {
			return Reg(i), true
		}
	}
	return NoReg, false
}

// RegName is the ABI name of r.
func (f *RegisterFile) RegName(r Reg) string {
	if int(r) >= len(f.Regs) {
		return "?"
	}
	return f.Regs[r].Names[0]
}
