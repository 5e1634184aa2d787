package callee

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// What follows finds the global offset table of i386's position-independent code, which has
// the table's address in ebx wherever it calls through the PLT (psABI i386, "Procedure
// Linkage Table"). A stub says no more than the distance from there:
//
//	call __x86.get_pc_thunk.bx      5b0: jmp *0x3c(%ebx)
//	add  $0x1a4b,%ebx
//	call 5b0 <f@plt>
//
// The table is one for the whole image, and every function that uses it computes the same
// address, so that a few of them tell.

const (
	// enoughSites is how many functions must agree on the table's address.
	enoughSites = 8
	// maxTables bounds the addresses that the functions differ in: something else is added
	// to the PC as well.
	maxTables = 16
)

// globalOffsetTable is the address of the table, 0 where the image has none.
func globalOffsetTable(code disasm.Code) (table uint64) {
	if !code.Arch.PCThunk {
		return 0
	}
	votes := map[uint64]int{}
	code.EachRef(code.Calls(0), func(r *cpu.CallRef) bool {
		if v, ok := pcPlus(code, r); ok && (len(votes) < maxTables || votes[v] > 0) {
			if votes[v]++; votes[v] > votes[table] {
				table = v
			}
		}
		return votes[table] < enoughSites
	})
	return table
}

// pcPlus is the address that code computes behind a call of a PC thunk.
func pcPlus(code disasm.Code, call *cpu.CallRef) (uint64, bool) {
	r, ok := disasm.PCThunk(code, disasm.Addr{PC: call.Target, Mode: call.TargetMode})
	if !ok {
		return 0, false
	}
	var in cpu.Insn
	pc, ok := code.ReturnAddress(disasm.Addr{PC: call.Site, Mode: call.TargetMode})
	if !ok || !code.One(disasm.Addr{PC: pc, Mode: call.TargetMode}, &in) || in.Op != cpu.OpAddImm || in.Dst != r || in.Src != r {
		return 0, false
	}
	return (pc + uint64(in.Imm)) & code.Arch.AddrMask(), true
}

// startStub makes st the state in which a PLT stub is entered.
func (f *Effects) startStub(st *absint.State) {
	arch := f.code.Arch
	st.Start(arch)
	if !arch.PCThunk {
		return
	}
	if ebx, ok := arch.RegByName("ebx"); ok {
		if got := f.got(); got != 0 {
			st.Set(ebx, absint.Const(absint.Signed(got, arch)), arch)
		}
	}
}

// ownImport is where the image itself has the function that the PLT stub at a place leads
// to, which jumps through slot: libraries call what they export through their PLT. Another module may have the
// function that runs, but that one takes the same arguments. A slot of 0 is none.
func (f *Effects) ownImport(at disasm.Addr, slot uint64) (disasm.Addr, bool) {
	if slot == 0 {
		return disasm.Addr{}, false
	}
	s, _, ok := f.code.Img.OwnImport(slot)
	return disasm.Addr{PC: s.Addr, Mode: s.Mode}, ok && s.Addr != at.PC && f.code.Has(s.Addr)
}
