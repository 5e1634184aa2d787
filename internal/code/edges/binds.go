package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/target"
)

// Binds implements unwind.CallGraph. Below the return address lies what tells the dynamic linker
// which import to bind (System V ABI, AMD64 supplement, 5.2; "SysV ABI for the Arm 64-bit
// architecture", dynamic linking):
//
//	x86-64, i386   push $n; jmp PLT0                      n: the import's number, or its offset in .rel.plt
//	AArch64        add x16,…; br x17; PLT0: stp x16,x30,… x16: the address of the import's GOT entry
//
// Imports are numbered in the order of their GOT entries, which follow the word that PLT0 jumps
// through.
func (w *Graph) Binds(snap *target.Snapshot, entry uint64, mode cpu.Mode, cfa uint64) bool {
	m, p := moduleAt(w, snap, entry)
	if p == nil {
		return false
	}
	stub := disasm.Addr{PC: inImage(m, entry), Mode: mode}
	named, known := p.memos.imports.Find(stub)
	if !known {
		named = p.named(stub)
		p.memos.imports.Keep(stub, named)
	}
	word, has := snap.Memory.Word((cfa - 2*uint64(p.Arch.RegSize)) & p.Arch.AddrMask())
	if named.slot {
		named.word = m.ToTarget(named.word)
	}
	return has && named.ok && word == named.word
}

// importName is the word by which a PLT stub names its import: a number, or the image address of the
// GOT entry.
type importName struct {
	word     uint64
	slot, ok bool
}

func (p *program) named(stub disasm.Addr) importName {
	slot, ok := p.Callees.StubSlot(stub)
	if !ok || !p.Arch.CallPushesRA {
		return importName{slot, true, ok}
	}
	first, ok := p.resolverSlot(stub)
	n := (slot-first)/uint64(p.Arch.AddrSize) - 1
	if p.Arch.PCThunk {
		n *= relSize
	}
	return importName{n, false, ok && slot > first}
}

// relSize is the size of an entry of i386's .rel.plt, whose offset stands for the import.
const relSize = 8

// resolverSlot is the word through which PLT0 jumps to the dynamic linker, where the PLT stub at a
// place goes on while its import is not bound.
func (p *program) resolverSlot(stub disasm.Addr) (uint64, bool) {
	at, ok := p.Callees.BehindStub(stub)
	var buf [4]cpu.Insn
	if n := p.Decode(at, buf[:2]); !ok || n < 2 || buf[1].Op != cpu.OpJump || buf[1].Target == 0 {
		return 0, false
	}
	at = disasm.Target(&buf[1])
	for _, in := range buf[:p.Decode(at, buf[:])] {
		if in.Op == cpu.OpJump {
			var st absint.State
			st.Start(p.Arch)
			slot := st.Operand(&in)
			return uint64(slot.Off) & p.Arch.AddrMask(), in.Flags&cpu.FlagMemory != 0 && slot.Kind == absint.Constant
		}
	}
	return 0, false
}
