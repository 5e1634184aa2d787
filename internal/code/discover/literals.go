package discover

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Literals are words among the code that instructions read relative to the PC. What a
// literal holds is an address, or an offset to which the code adds the PC:
//
//	ldr r3, .L1        ldr r3, .L1
//	ldr r0, [r3]       add r3, pc       .L1: .word table-(.LPIC0+4)
//
// Offsets within a library or a position-independent program look like addresses of its
// text. What a literal is shows only when the register is used.

// literal notes a load of a literal whose value is known.
func (s *sweep) literal(in *cpu.Insn) {
	if word := uint64(in.Imm); s.Has(word) {
		if s.literals == nil {
			s.literals = disasm.NewSet(s.Code)
		}
		s.literals.Add(disasm.Addr{PC: word &^ 3})
	}
	s.pending = s.pending.With(in.Dst)
}

// spend tells the pending literals apart by how an instruction uses them. A literal that is added
// to another value is an offset. A literal that a call passes on, or whose register is overwritten
// before any addition, was an address.
func (s *sweep) spend(in *cpu.Insn) {
	switch in.Op {
	case cpu.OpAdd:
		s.pending = s.pending.Without(in.Src).Without(in.Src2)
	case cpu.OpAddImm:
		s.pending = s.pending.Without(in.Src)
	case cpu.OpCall:
		s.flush(s.pending)
		return
	}
	s.flush(s.pending & in.List.With(in.Dst))
}

// flush takes the literals in these registers for addresses.
func (s *sweep) flush(set cpu.RegSet) {
	s.pending &^= set
	for set &= s.regs.now.known; set != 0; set = set.Without(set.First()) {
		if v := s.regs.now.value[set.First()]; v != 0 {
			s.pointer(uint64(v) & s.Arch.AddrMask())
		}
	}
}

// isLiteral tells whether one of the literals stands at a place: data, which control meets behind
// a call that does not return. In Thumb every literal from -4096 to -2049 reads as a call.
func isLiteral(literals *disasm.Set, at disasm.Addr) bool {
	return literals != nil && literals.Has(disasm.Addr{PC: at.PC &^ 3})
}
