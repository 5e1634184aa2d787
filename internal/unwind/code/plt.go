package code

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/heights"
	"github.com/backsight/backsight/internal/code/rules"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// maxPLT0 is how many instructions the first entry of a PLT has on x86.
const maxPLT0 = 4

// pltEntry is the size of an entry of a PLT on x86 (psABI i386 and x86-64, "Procedure
// Linkage Table").
const pltEntry = 16

// fromStub derives the rule for a point in the first entry of a PLT (PLT0) from the stub behind
// PLT0. No call leads to PLT0: only stubs jump there, as long as their imports are not bound. In
// i386's position-independent code no word of the file leads to the stub's second half either:
//
//	2020: push 4(%ebx)         pc ◄─ what lies on the stack, the stub has pushed
//	2026: jmp  *8(%ebx)        to the dynamic linker
//	2030: jmp  *0xc(%ebx)      the first stub; at first, the word there is 2036
//	2036: push $0x0
//	203b: jmp  2020
func (s *search) fromStub() {
	var in cpu.Insn
	at := s.at.Addr()
	for range maxPLT0 {
		if !s.prog.One(at, &in) {
			return
		}
		if at.PC += uint64(in.Len); in.Op != cpu.OpJump {
			continue
		}
		stub := disasm.Addr{PC: (at.PC + pltEntry - 1) &^ (pltEntry - 1), Mode: at.Mode}
		if behind, ok := s.prog.Callees.BehindStub(stub); ok && in.Flags&cpu.FlagMemory != 0 {
			s.from(behind, fromCold)
		}
		return
	}
}

// isStub tells whether the first instruction of a PLT stub stands at a place of which the file says nothing.
func (p *program) isStub(at disasm.Addr) bool {
	_, _, declared := p.Entries.Declared(at.PC)
	return !declared && beginsStub(p, at)
}

// stub writes the rule for the first instruction of a PLT stub: all is as the call left it. Nothing else is asked, for lld writes no table
// for stubs, and the functions of Firefox's libxul.so would have to be sought in 120 MB of code.
func (p *program) stub(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	called := heights.SavedRegs{Kept: ^cpu.RegSet(0)}
	if q.Try > 0 || !rules.FromHeights(nil, &called, p.Arch, out) {
		return unwind.NotCovered
	}
	return unwind.Found
}

// beginsStub tells whether an address is that of the first instruction of a PLT stub, where calls lead whatever
// the tables list, and no frame is built. Static programs have such stubs for functions that the start
// chooses for the processor (R_*_IRELATIVE); their tables do not cover the stubs:
//
//	4010c8: jmp  *0xb2fe2(%rip)        the word there is 4010ce at first, which is this stub's end
//
// A jump of a function through a pointer of its own (jmp *next(%rip)) reads the same but for that word.
func beginsStub(p *program, at disasm.Addr) bool {
	slot, ok := p.Callees.StubSlot(at)
	if !ok {
		return false
	}
	word, _ := p.Img.Word(slot)
	behind, _ := p.Callees.BehindStub(at)
	return word == behind.PC
}
