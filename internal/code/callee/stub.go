package callee

import (
	"strings"
	"weak"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// namedNoReturn tells whether the function at a place is known by name as one that never
// returns: its own, or that of the import that the place is the PLT stub of, which jumps through slot.
func (f *Effects) namedNoReturn(to disasm.Addr, slot uint64) bool {
	s, ok := f.code.Img.Symbols.At(to.PC)
	if ok && s.Addr == to.PC && nameNeverReturns(s.Name, true) {
		return true
	}
	if f.importNeverReturns(to.PC) { // a lazy binding stub of MIPS
		return true
	}
	return slot != 0 && f.importNeverReturns(slot)
}

// importNeverReturns tells whether what the dynamic linker stores at an image address is a
// function that never returns.
func (f *Effects) importNeverReturns(slot uint64) bool {
	name, ok := f.code.Img.Import(slot)
	return ok && nameNeverReturns(name, false)
}

// ResumesUnwinding tells whether a place is a function that compilers call from landing pads alone, or the PLT
// stub of an import that is one: _Unwind_Resume (Itanium C++ ABI, Level I, 1.5), GCC's __cxa_end_cleanup for
// ARM.
func ResumesUnwinding(f *Effects, to disasm.Addr) bool {
	name := f.name(to)
	return name == "_Unwind_Resume" || name == "__cxa_call_unexpected" || name == "__cxa_end_cleanup"
}

// OfLandingPads tells whether a place is a function that landing pads alone call: such a function, or what begins to catch
// an exception (Itanium C++ ABI, Level II, 2.5.3).
func OfLandingPads(f *Effects, to disasm.Addr) bool {
	return ResumesUnwinding(f, to) || f.name(to) == "__cxa_begin_catch"
}

// name is the name of the function at a place, or of the import that the PLT stub there leads to, without a version.
func (f *Effects) name(to disasm.Addr) string {
	s, ok := f.code.Img.Symbols.At(to.PC)
	if !ok || s.Addr != to.PC {
		slot, _ := f.StubSlot(to)
		s.Name, _ = f.code.Img.Import(slot)
	}
	name, _, _ := strings.Cut(s.Name, "@")
	return name
}

// ReadsNoReturn tells whether a call reads its target from an absolute address where the
// dynamic linker stores a function that never returns: call *abort@GOTPCREL(%rip).
func (f *Effects) ReadsNoReturn(in *cpu.Insn) bool {
	absolute := in.Flags&cpu.FlagMemory != 0 && in.Base == cpu.NoReg && in.Index == cpu.NoReg
	return absolute && f.importNeverReturns(uint64(in.Imm)&f.code.Arch.AddrMask())
}

// CallNeverReturns tells whether a call never comes back in a state: by the function that
// the call goes to, if that is known, or by the import that the call reads its target from.
func (f *Effects) CallNeverReturns(m *absint.Interp, st *absint.State, in *cpu.Insn, target disasm.Addr, known bool) bool {
	if known && f.NeverReturns(target) {
		return true
	}
	if in.Flags&cpu.FlagMemory == 0 && in.Src < cpu.MaxRegs && in.Target == 0 { // of another file: lui v0; addiu v0; jalr v0
		to := st.RegisterTarget(in, m.Arch)
		return to.Kind == absint.Constant && f.importNeverReturns(uint64(to.Off)&m.Arch.AddrMask())
	}
	slot, ok := callSlot(m, st, in, target)
	return ok && f.importNeverReturns(slot)
}

// callSlot is the image address of the word that a call reads its target from. A PLT stub
// of i386's position-independent code needs what its caller has in ebx: jmp *12(%ebx).
func callSlot(m *absint.Interp, st *absint.State, in *cpu.Insn, target disasm.Addr) (uint64, bool) {
	switch {
	case in.Flags&cpu.FlagMemory != 0:
		at := st.Operand(in)
		return uint64(at.Off) & m.Arch.AddrMask(), at.Kind == absint.Constant
	case in.Src == cpu.NoReg && m.Arch.PCThunk:
		var buf [maxStub]cpu.Insn
		if stub := stubAt(m.Code, target, &buf); stub != nil {
			var callee absint.State
			callee.CopyFrom(st)
			slot := stubSlot(m, &callee, stub, target.PC)
			return slot, slot != 0
		}
	}
	return 0, false
}

// StubSlot is the image address of the word that the PLT stub at a place jumps through;
// false where no such stub stands.
func (f *Effects) StubSlot(at disasm.Addr) (slot uint64, ok bool) {
	slot, known := f.stubs.Find(at.Key())
	if !known {
		slot = f.slotOf(at)
		f.stubs.Keep(at.Key(), slot)
	}
	return slot, slot != 0
}

// BehindStub is the place behind the jump of the PLT stub at a place: where control goes on
// while the import is not bound.
func (f *Effects) BehindStub(at disasm.Addr) (disasm.Addr, bool) {
	if _, ok := f.StubSlot(at); !ok {
		return disasm.Addr{}, false
	}
	var buf [maxStub]cpu.Insn
	for _, in := range stubAt(f.code, at, &buf) {
		at.PC += uint64(in.Len)
	}
	return at, true
}

// BindsLazily tells whether the lazy binding stub of an import stands at a place, which MIPS has
// instead of a PLT: the GOT holds the stub's address until the import is bound.
func (f *Effects) BindsLazily(at disasm.Addr) bool {
	_, ok := f.code.Img.Import(at.PC)
	return ok && f.code.Has(at.PC)
}

// slotOf is StubSlot by the instructions that stand there; 0 where that is false.
func (f *Effects) slotOf(at disasm.Addr) uint64 {
	var buf [maxStub]cpu.Insn
	stub := stubAt(f.code, at, &buf)
	if stub == nil {
		return 0
	}
	var st absint.State
	f.startStub(&st)
	m := absint.New(f.code)
	return stubSlot(&m, &st, stub, at.PC)
}

// maxStub is how many instructions a PLT stub has at most, its jump and what stands in a
// delay slot included (RISC-V and AArch64 have four, bti one more).
const maxStub = 6

// stubAt are the instructions of the PLT stub at a place, up to and including its indirect jump; nil where no stub stands.
func stubAt(c disasm.Code, at disasm.Addr, buf *[maxStub]cpu.Insn) []cpu.Insn {
	if n := c.Decode(at, buf[:1]); n == 0 || !inStub(&buf[0], c.Arch) { // as nearly everywhere
		return nil
	}
	n := stubEnd(buf[:c.Decode(at, buf[:])], c.Arch)
	if n == 0 {
		return nil
	}
	return buf[:n]
}

// stubSlot is the image address of the word that the PLT stub at pc jumps through, 0 where that is not known; st holds
// there, and changes. A stub computes an address and jumps: one instruction on x86; adrp, ldr, add, br on AArch64; add,
// add, ldr pc on ARM.
func stubSlot(m *absint.Interp, st *absint.State, stub []cpu.Insn, pc uint64) uint64 {
	slot, loaded := uint64(0), cpu.NoReg
	for i := range stub {
		in := &stub[i]
		if in.Op == cpu.OpLoad || in.Flags&cpu.FlagMemory != 0 {
			slot, loaded = 0, in.Dst
			if a := st.Operand(in); a.Kind == absint.Constant {
				slot = uint64(a.Off) & m.Arch.AddrMask()
			}
		}
		if i < len(stub)-1 {
			m.Exec(st, in, pc)
			pc += uint64(in.Len)
		}
	}
	last := &stub[len(stub)-1]
	if last.Op != cpu.OpLoad && last.Flags&cpu.FlagMemory == 0 && last.Src != loaded {
		return 0 // through a register that holds something else
	}
	return slot
}

// stubEnd is how many instructions a stub has, up to and including its indirect jump; 0 where an
// instruction comes before the jump that no stub has.
func stubEnd(insns []cpu.Insn, arch *cpu.Arch) int {
	for i := range insns {
		in := &insns[i]
		switch {
		case !inStub(in, arch):
			return 0
		case in.Op == cpu.OpJump, in.Op == cpu.OpLoad && in.Dst == arch.PC:
			return i + 1
		}
	}
	return 0
}

// inStub tells whether stubs have such an instruction.
func inStub(in *cpu.Insn, arch *cpu.Arch) bool {
	if in.Flags&(cpu.FlagConditional|cpu.FlagTable) != 0 || in.Dst == arch.SP {
		return false
	}
	switch in.Op {
	case cpu.OpJump:
		return in.Src != cpu.NoReg || in.Flags&cpu.FlagMemory != 0
	case cpu.OpLoad, cpu.OpNop, cpu.OpConst, cpu.OpInsert, cpu.OpMove, cpu.OpAdd, cpu.OpAddImm:
		return true
	}
	return false
}

// exported is the question what a library exports for a word. The memory of the answer
// does not keep the library.
type exported struct {
	slot uint64
	lib  weak.Pointer[image.Image]
}

// Export is where a library's symbol is, as an image address of the library.
type Export struct {
	disasm.Addr
	// Choices are the functions among which code at Addr chooses where calls go; nil where calls
	// go to Addr itself.
	Choices []disasm.Addr
}

// Bound is what lib exports under the name of the import that the dynamic linker stores at slot, or
// what lib, if that is the image of the calls, chooses for slot itself; false where there is none.
func (f *Effects) Bound(slot uint64, lib *image.Image) (Export, bool) {
	question := exported{slot, weak.Make(lib)}
	export, known := f.exports.Find(question)
	if !known {
		if name, ok := f.code.Img.Import(slot); ok {
			s, _ := lib.Symbols.Named(name)
			export = exportOf(lib, &s)
		} else if lib == f.code.Img {
			export = ownChoices(f.code, slot)
		}
		f.exports.Keep(question, export)
	}
	return export, export.PC != 0
}
