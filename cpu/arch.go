// Package cpu is the vocabulary of processors: registers, the effects of
// instructions, and the descriptor of a processor ABI. It decides nothing; the
// packages below it (cpu/mips, cpu/arm, …) fill it with data and decoders, and
// everything else in Backsight reads it and never switches on a CPU.
package cpu

// Arch describes one processor ABI: a variant such as "mips o32 big-endian".
// All its fields are constant after construction; an *Arch is compared by
// pointer.
//
// Checklist for a new CPU: every field below is either set or wrong.
type Arch struct {
	Name      string // as in captures: mips, mips64, arm, aarch64, riscv32, riscv64, i386, x86_64
	ABI       string // where the CPU has several: o32, n32, n64; else ""
	BigEndian bool
	// AddrSize is the size of an address and of a return address in bytes;
	// RegSize that of a general register and of its save slot (n32: 4 and 8).
	AddrSize, RegSize int
	// InsnAlign is the alignment of instructions in the narrowest ISA mode,
	// StackAlign that of SP at a call.
	InsnAlign, StackAlign uint64

	PC, SP Reg
	// FP is the conventional frame pointer, NoReg where there is no convention
	// worth following (MIPS).
	FP Reg
	// LR holds the return address on entry; NoReg where CallPushesRA.
	LR Reg
	// CallPushesRA: a call instruction pushes the return address (x86), so that SP
	// points at the return address on entry and a return pops it. Elsewhere the call
	// leaves the return address in LR and SP as it was.
	CallPushesRA bool
	// ResetLR is the address that LR holds in the function that the hardware enters
	// first, ISA mode bit set; 0 where that tells nothing.
	ResetLR uint64
	// Status holds the ISA mode in bit StatusModeBit (ARM's CPSR.T); NoReg where
	// bit 0 of the PC tells or there are no modes.
	Status        Reg
	StatusModeBit uint

	Regs []RegInfo
	// Preserved are the registers that a callee must restore, FP included, SP,
	// PC and LR not.
	Preserved RegSet
	// SelfRegs hold the function's own address on entry by the ABI's convention
	// (t9 in MIPS abicalls code).
	SelfRegs RegSet
	// Globals hold one value throughout an image's code (gp).
	Globals RegSet
	// Platform are registers that the platform may reserve, which a call leaves as they were
	// then: the pointer of the shadow call stack (x18 of AArch64, AAPCS64 6.1.1; gp of RISC-V).
	// Elsewhere nobody reads behind a call what they held.
	Platform RegSet
	// GPBias is by how many bytes the value of Globals lies behind the start of the
	// image's GOT (MIPS: 0x7ff0, so that signed 16-bit offsets reach all of the first
	// 64 KiB; System V ABI MIPS supplement, chapter 5); 0 where Globals is empty.
	GPBias uint64
	// PCThunk: no operand can be relative to the PC (i386). Position-independent code
	// reads the PC through a call of a function that returns its own return address
	// (__x86.get_pc_thunk.bx), and its PLT stubs find the GOT through the register in
	// which the caller keeps what it computed from that (jmp *12(%ebx)).
	PCThunk bool
	// Zero is the register that reads as 0 (MIPS, RISC-V), else NoReg.
	Zero Reg

	// HookPops is by how many bytes the hook of a profiler, which -pg has called before or in
	// the prologue, raises SP before it returns to there: MIPS o32's _mcount, ARM's
	// __gnu_mcount_nc; 0 where it leaves SP alone.
	HookPops int64
	// HookKeeps is the register into which functions copy LR before they call such a hook,
	// which gives LR back: AArch64's x9 before Linux's ftrace_caller (mov x9,x30); 0 where
	// there is no such convention.
	HookKeeps Reg

	// ThreadExit is the system call by which Linux's C libraries end a thread whose function
	// came back.
	ThreadExit SystemCall

	// EntryCFA is CFA − SP on entry to a function: 0, or the word that a call
	// pushed (x86). The CFA is SP in the caller at the call instruction.
	EntryCFA int64

	// FPChain describes the conventional frame record: the saved FP and return
	// address at these offsets from FP, and the CFA at FP+CFA. Nil: no convention.
	FPChain *FPChain

	// ISABit: bit 0 of a code address is the ISA mode, not part of the address.
	// ModeOnly is set on CPUs that have only mode 1 (Cortex-M).
	ISABit   bool
	ModeOnly bool

	// AddrBits are the sizes of address space above which a code pointer may hold a
	// signature, the largest first; nil: it holds none. Which of them applies, a
	// capture tells or nobody.
	AddrBits []uint8

	// ELF says which ELF files have this ABI, MachO which Mach-O files: 0, none.
	ELF   ELFMatch
	MachO MachOType

	// Layouts of the register file in captures, by carrier.
	Layouts map[Carrier]Layout

	// Decoder is nil for a CPU that is only described.
	Decoder Decoder
}

// SystemCall is a system call by its number, and the register that holds the number.
type SystemCall struct {
	Reg    Reg
	Number int64
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

// FPChain is the layout of a conventional frame record.
type FPChain struct {
	SavedFP, SavedRA, CFA int64
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

// Carrier is a kind of capture that stores a register file as a block of bytes.
type Carrier uint8

const (
	// LinuxPrstatus is pr_reg of NT_PRSTATUS (elf_gregset_t).
	LinuxPrstatus Carrier = iota
	// LinuxSigcontext is the mcontext of a signal frame, offsets from the start
	// of the struct that the internal/unwind/sigframe table says.
	LinuxSigcontext
	// GDBPacket is the reply to the remote protocol's g packet.
	GDBPacket
	// CortexMFrame is the basic frame that exception entry stacks.
	CortexMFrame
	// DarwinThread is the thread state of Darwin's Mach kernel (mach/i386/_structs.h,
	// mach/arm/_structs.h): in the LC_THREAD of a core, and in the mcontext of a signal frame.
	DarwinThread
	// LinuxSwitch is what Linux keeps of a task that is switched out: struct cpu_context, the
	// first fields of struct thread_struct, or, where the layout has no stack pointer, struct
	// inactive_task_frame on top of the task's stack. The PC is a return address.
	LinuxSwitch
)

// Slot says where one register lies in a carrier's block.
type Slot struct {
	Reg    Reg
	Offset int
	Size   int
}

// Layout is a carrier's register block: its total Size and the known slots.
type Layout struct {
	Size  int
	Slots []Slot
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

// RegByName finds a register by name or alias, as spelled in lower case.
func (a *Arch) RegByName(name string) (Reg, bool) {
	for i := range a.Regs {
		for _, n := range a.Regs[i].Names {
			if n == name {
				return Reg(i), true
			}
		}
	}
	return NoReg, false
}

// RegByDWARF maps a DWARF register number.
func (a *Arch) RegByDWARF(n uint64) (Reg, bool) {
	// Most numberings coincide with ours; look there first.
	if n < uint64(len(a.Regs)) && a.Regs[n].DWARF == int(n) {
		return Reg(n), true
	}
	for i := range a.Regs {
		if a.Regs[i].DWARF >= 0 && uint64(a.Regs[i].DWARF) == n {
			return Reg(i), true
		}
	}
	return NoReg, false
}

// RegName is the ABI name of r.
func (a *Arch) RegName(r Reg) string {
	if int(r) >= len(a.Regs) {
		return "?"
	}
	return a.Regs[r].Names[0]
}

// NeverCode tells whether nothing can run at an address, wherever binaries are mapped: on
// Cortex-M, at 0 lies the initial stack pointer, the first word of the vector table (DDI
// 0403 B1.5.3), and the table is part of the text that linkers call executable.
func (a *Arch) NeverCode(pc uint64) bool { return a.ModeOnly && pc == 0 }

// AddrMask has the bits that an address of this ABI can have.
func (a *Arch) AddrMask() uint64 {
	if a.AddrSize == 4 {
		return 0xffff_ffff
	}
	return ^uint64(0)
}

// InsnAlignIn is the alignment of instructions in one ISA mode: the instructions of
// mode 0 have four bytes wherever there is a second, denser mode (ARM, MIPS).
func (a *Arch) InsnAlignIn(mode Mode) uint64 {
	if a.ISABit && !a.ModeOnly && mode == 0 {
		return 4
	}
	return a.InsnAlign
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

// Read decodes the registers of a block laid out as l. Slots outside block stay
// unknown.
func (a *Arch) Read(l Layout, block []byte) Registers {
	var regs Registers
	for _, s := range l.Slots {
		if s.Offset < 0 || s.Offset+s.Size > len(block) {
			continue
		}
		var v uint64
		for i := range s.Size {
			b := block[s.Offset+i]
			if a.BigEndian {
				v = v<<8 | uint64(b)
			} else {
				v |= uint64(b) << (8 * i)
			}
		}
		regs.Set(s.Reg, v)
	}
	return regs
}

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
	n := onesCount(m.Mask)
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

func onesCount(v uint32) (n int) {
	for ; v != 0; v &= v - 1 {
		n++
	}
	return n
}
