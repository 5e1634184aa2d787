package edges

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/callee"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/target"
)

// Stub implements stackwalk.CallGraph.
func (g *Graph) Stub(snap *target.Snapshot, entry uint64, mode cpu.Mode, pc uint64) (uint64, bool) {
	c := capture{g, snap}
	p, ok := c.find(disasm.Addr{PC: entry, Mode: mode})
	if !ok {
		return 0, false
	}
	slot, ok := p.Callees.StubSlot(p.at)
	if !ok {
		return 0, false
	}
	to, _ := c.binding(p, slot, pc)
	return to.PC, to.PC != 0
}

// importAt is the word that names the import to which the stub at an entry leads: the GOT entry
// that a PLT stub jumps through, or the lazy binding stub itself.
func (p *program) importAt(entry disasm.Addr) (slot uint64, ok bool) {
	if slot, ok = p.Callees.StubSlot(entry); ok {
		return slot, true
	}
	return entry.PC, p.Callees.BindsLazily(entry)
}

// bound is where the word at an image address of p leads, if the word was captured.
func (c capture) bound(p place, slot uint64) (to disasm.Addr, ok bool) {
	v, ok := c.snap.Memory.Word(p.m.ToTarget(slot))
	if ok {
		to.PC, to.Mode = p.Arch.SplitCode(v)
	}
	return to, ok
}

// binding is where a PLT stub of p goes that jumps through the word at an image address. The stub's GOT
// entry tells, if that was captured; what the file holds there, before the entry is bound, leads to
// the dynamic linker. Else the name of the import does: enough to accept the function of
// that name where pc is (the answer for others stays Unknown: an indirect function's symbol
// is not where calls go). The result is a target address, 0 where nothing tells.
func (c capture) binding(p place, slot, pc uint64) (disasm.Addr, stackwalk.Answer) {
	if to, ok := c.bound(p, slot); ok {
		return to, stackwalk.No
	}
	return c.namesake(p, slot, pc), stackwalk.Unknown
}

// namesake is where the import that the dynamic linker stores at an image address of p goes, if that is
// the function of its name in the image at pc; 0 if not.
func (c capture) namesake(p place, slot, pc uint64) (to disasm.Addr) {
	if lib, export, ok := c.exportAt(p, slot, pc); ok && export.Choices == nil {
		to = disasm.Addr{PC: lib.ToTarget(export.PC), Mode: export.Mode}
	}
	return to
}

// choice is where a PLT stub of p goes that jumps through the word at an image address, if the dynamic linker
// chose among functions of the module at pc: memset's for the processor. The nearest
// of these functions below pc has pc, or none has.
func (c capture) choice(p place, slot, pc uint64) (to disasm.Addr, ok bool) {
	lib, export, found := c.exportAt(p, slot, pc)
	if !found {
		return to, false
	}
	at := inImage(lib, pc)
	for _, choice := range export.Choices {
		if choice.PC <= at && (!ok || choice.PC > to.PC) {
			to, ok = choice, true
		}
	}
	to.PC = lib.ToTarget(to.PC)
	return to, ok
}

// exportAt is what the module at pc exports under the name of the import that p has at slot.
func (c capture) exportAt(p place, slot, pc uint64) (lib *target.Module, export callee.Export, ok bool) {
	if lib, ok = c.snap.ModuleAt(pc); !ok || lib.Image == nil {
		return lib, export, false
	}
	export, ok = p.Callees.Bound(slot, lib.Image)
	return lib, export, ok
}

// maxExporters bounds the modules that are asked for an import.
const maxExporters = 64

// exports calls visit for what the module of p, and then the others, export under the name of the import that p has at
// slot, until visit returns false.
func (c capture) exports(p place, slot uint64, visit func(lib *target.Module, export callee.Export) bool) {
	more := true
	ask := func(lib *target.Module) {
		if lib.Image == nil {
			return
		}
		if export, ok := p.Callees.Bound(slot, lib.Image); ok {
			more = visit(lib, export)
		}
	}
	ask(p.m)
	for _, lib := range c.snap.Modules[:min(len(c.snap.Modules), maxExporters)] {
		if !more {
			return
		}
		if lib != p.m {
			ask(lib)
		}
	}
}

// Binds implements stackwalk.CallGraph. Below the return address lies what tells the dynamic linker
// which import to bind (System V ABI, AMD64 supplement, 5.2; "SysV ABI for the Arm 64-bit
// architecture", dynamic linking):
//
//	x86-64, i386   push $n; jmp PLT0                      n: the import's number, or its offset in .rel.plt
//	AArch64        add x16,…; br x17; PLT0: stp x16,x30,… x16: the address of the import's GOT entry
//
// Imports are numbered in the order of their GOT entries, which follow the word that PLT0 jumps
// through.
func (g *Graph) Binds(snap *target.Snapshot, entry uint64, mode cpu.Mode, cfa uint64) bool {
	p, ok := capture{g, snap}.find(disasm.Addr{PC: entry, Mode: mode})
	if !ok {
		return false
	}
	name, known := p.memos.imports.Find(p.at)
	if !known {
		name = p.importName(p.at)
		p.memos.imports.Keep(p.at, name)
	}
	word, has := snap.Memory.Word((cfa - 2*uint64(p.Arch.RegSize)) & p.Arch.AddrMask())
	if name.slot {
		name.word = p.m.ToTarget(name.word)
	}
	return has && name.ok && word == name.word
}

// importName is the word by which the PLT stub at a place names its import.
func (p *program) importName(stub disasm.Addr) importName {
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
