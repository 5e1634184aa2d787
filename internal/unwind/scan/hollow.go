package scan

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// callees is how many bytes from SP on belong to the functions that a frame calls: o32 has 16 for their arguments in each frame
// that calls (System V ABI, MIPS supplement, "The Stack Frame").
func callees(s *stackwalk.State) uint64 {
	if s.Snapshot.Arch.ABI != "o32" || !s.Module.Hollow() {
		return 0
	}
	return o32Arguments
}

// keepsGlobal tells whether a return address to a binary that is not at hand lies where MIPS' code keeps the global pointer, which
// is one for all functions of a binary (System V ABI, MIPS supplement, "Global Data"; SGI, 64-bit ELF, "Global Pointer"):
//
//	o32, in the caller's frame        n32, n64, in the callee's
//	    ra   h.slot                       gp   h.slot - 1 or 2 words
//	SP: 16 bytes of arguments             fp
//	    gp                                ra   h.slot
func keepsGlobal(s *stackwalk.State, h *hit) bool {
	arch := s.Snapshot.Arch
	if arch.ELF.Machine != emMIPS || s.Thread == nil {
		return false
	}
	gp, ok := arch.RegByName("gp")
	if m, _ := s.Snapshot.ModuleAt(s.CodeAddress(h.raw) - 1); !ok || !m.Hollow() {
		return false
	}
	global, known := s.Thread.Regs.Lookup(gp)
	size := int64(arch.RegSize)
	places := [2]int64{-size, -2 * size}
	if arch.ABI == "o32" {
		places = [2]int64{size + o32Arguments, size + o32Arguments + 8}
	}
	for _, at := range places {
		word, ok := s.Snapshot.Memory.Uint(h.slot+uint64(at), arch.RegSize)
		if ok && known && word == global&arch.AddrMask() {
			return true
		}
	}
	return false
}

const (
	emMIPS = 8
	// o32Arguments is the area for the first four arguments at the end of each frame that calls.
	o32Arguments = 16
)

// registerArguments is how many words a function of a variable number of arguments may save above its return address.
const registerArguments = 8

// maxLeads bounds the callers of a word's frame that are looked at.
const maxLeads = 8

// leadsOn tells whether the frame of a return address, whose SP is sp at least, has a return address of its own where tables say, and
// so have its callers. Where they do not say, or the stack ends in front, the frame may be one. What functions that have returned left on the
// stack is overwritten further out:
//
//	40be28 in msort ─► 40c404 in qsort, whose caller lies at 112 above the frame pointer of msort's frame: 27242280
func (f Source) leadsOn(s *stackwalk.State, raw, sp uint64) stackwalk.Answer {
	arch := s.Snapshot.Arch
	rule := f.tableRule(s, raw)
	if rule == nil || rule.CFA.Kind != stackwalk.RegPlus || rule.CFA.Base != arch.SP || rule.RA.Kind != stackwalk.AtCFA {
		return stackwalk.Unknown
	}
	slot, size := sp+uint64(rule.CFA.Off+rule.RA.Off), uint64(arch.RegSize)
	for saved := range 1 + registerArguments {
		word, ok := s.Snapshot.Memory.Uint(slot, arch.RegSize)
		if !ok || word == 0 {
			return stackwalk.Unknown
		}
		if _, k := f.classify(s, word, slot+size); k != other {
			if saved > 0 {
				return stackwalk.Unknown
			}
			var regs cpu.Registers
			regs.Set(arch.SP, sp)
			return f.goesOn(s, rule, &regs)
		}
		slot += size
	}
	return stackwalk.No
}

// inCode tells whether a return address lies behind code. A program's first function may have no name.
func inCode(s *stackwalk.State, raw uint64) bool {
	pc, _ := s.Snapshot.Arch.SplitCode(s.CodeAddress(raw))
	m, ok := s.Snapshot.ModuleAt(pc - 1)
	return ok && (m.Image == nil || m.Image.Segments.Executable(m.ToImage(pc-1)&m.Image.Arch.AddrMask()))
}

// goesOn tells whether a frame's callers lie in code as far as tables lead, by the rule of the frame.
func (f Source) goesOn(s *stackwalk.State, rule *stackwalk.Rule, regs *cpu.Registers) stackwalk.Answer {
	for n := range maxLeads {
		var out cpu.Registers
		res, oc := evaluate.Rule(s.Snapshot.Arch, rule, regs, s.Snapshot.Memory, s.Snapshot.CodeMask, &out)
		if oc != evaluate.Applied || res.PC == 0 {
			return proven(n)
		}
		if _, k := f.classify(s, res.PC, res.CFA); k == other && !inCode(s, res.PC) {
			return stackwalk.No
		}
		if rule = f.tableRule(s, res.PC); rule == nil {
			return proven(n)
		}
		regs = &out
	}
	return stackwalk.Yes
}

// proven tells what it says that tables lead over so many callers: to one, any word of a stale frame does.
func proven(callers int) stackwalk.Answer {
	if callers > 1 {
		return stackwalk.Yes
	}
	return stackwalk.Unknown
}

// tableRule is the rule that tables have for a return address into a binary that is not at hand, nil for none.
func (f Source) tableRule(s *stackwalk.State, raw uint64) *stackwalk.Rule {
	pc, mode := s.Snapshot.Arch.SplitCode(s.CodeAddress(raw))
	m, _ := s.Snapshot.ModuleAt(pc - 1)
	if f.tables == nil || !m.Hollow() {
		return nil
	}
	at := m.ToImage(pc) & m.Image.Arch.AddrMask()
	rule := new(stackwalk.Rule)
	rule.Reset()
	if f.tables.Rule(&stackwalk.Query{Image: m.Image, Arch: m.Image.Arch, PC: at - 1, Resume: at, Mode: mode}, rule) != unwind.Found {
		return nil
	}
	return rule
}

// inView is the return address where the code around the PC, which is all that is known of the function's, has a way out that
// restores the link register:
//
//	lw ra,0x504(sp)
//	jr ra
//	addiu sp,sp,0x508
//	…
//	PC
func (f Source) inView(s *stackwalk.State, sp uint64) (h hit) {
	if !s.Exact || s.Snapshot.Arch.LR == cpu.NoReg || !s.Module.Hollow() || s.Module.Image.Arch.Decoder == nil {
		return h
	}
	img := s.Module.Image
	pc := s.Module.ToImage(s.PC) & img.Arch.AddrMask()
	own, named := img.Symbols.At(pc)
	text, ok := img.Segments.At(pc)
	if !ok || !named || own.Size == 0 {
		return h
	}
	lo := max(own.Addr, text.Addr)
	hi := min(own.Addr+own.Size, text.Addr+uint64(len(text.Data)))
	for _, from := range [2]uint64{pc, lo} {
		off, ok := restores(img, text, from, hi, s.Mode)
		slot := sp + uint64(off)
		raw, has := s.Snapshot.Memory.Uint(slot, s.Snapshot.Arch.RegSize)
		if !ok || !has {
			continue
		}
		if _, k := f.classify(s, raw, slot+uint64(s.Snapshot.Arch.RegSize)); k == returnAddress {
			return hit{slot, raw, true}
		}
	}
	return h
}

// maxInView bounds the instructions that are looked at.
const maxInView = 1024

// restores finds the first instruction between two image addresses that loads the return address from the stack: from which
// distance from SP as the body of the function has SP.
func restores(img *image.Image, text *image.Segment, from, hi uint64, mode cpu.Mode) (off int64, ok bool) {
	arch := img.Arch
	raised := int64(0)
	for range maxInView {
		var in [1]cpu.Insn
		if from < text.Addr || from >= hi || arch.Decoder.Decode(text.Data[from-text.Addr:hi-text.Addr], from, mode, in[:]) == 0 {
			return 0, false
		}
		i := &in[0]
		if off, ok := loadsReturn(arch, i); ok {
			return raised + off, true
		}
		raised = max(0, raised+i.Raises(arch.SP)) // below the body's SP is a prologue
		if i.Ends(arch.PC) {
			raised = 0
		}
		from += uint64(i.Len)
	}
	return 0, false
}

// loadsReturn tells from which distance from SP an instruction loads the return address.
func loadsReturn(arch *cpu.Arch, i *cpu.Insn) (off int64, ok bool) {
	isReturn := func(r cpu.Reg) bool { return r == arch.LR || r == arch.PC }
	switch {
	case i.Base != arch.SP || i.Index != cpu.NoReg:
		return 0, false
	case i.Op == cpu.OpLoad && isReturn(i.Dst):
		return i.Imm, true
	case i.Op == cpu.OpLoad && isReturn(i.Dst2):
		return i.Imm + int64(i.Size), true
	case i.Op == cpu.OpLoadMulti:
		n := 0
		for set := i.List; set != 0; set = set.Without(set.First()) {
			if isReturn(set.First()) {
				return i.Imm + int64(n)*int64(i.Size), true
			}
			n++
		}
	}
	return 0, false
}
