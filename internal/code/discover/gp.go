package discover

import (
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/absint"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Position-independent MIPS code computes gp from its own address, which the caller leaves
// in t9:
//
//	401a38  lui   gp,0xa          o32: first in the function
//	401a3c  addiu gp,gp,31112
//	401a40  addu  gp,gp,t9        gp = entry + c, with c = 0xa7988
//
// or, on n32 and n64, lui; daddu t9; daddiu, spread over the prologue. gp is one value
// throughout an image, so that each such prologue names its function's entry exactly,
// gp − c, although nothing calls the function by name: the GOT does. Static functions that
// only indirect calls reach, and which end in a call that never returns, are found by
// nothing else (deep.constprop.0 of a -O3 build for mipsr6).

// gpPrologue is a place where code adds a constant to its own address.
type gpPrologue struct {
	at uint64 // of the first instruction of the sum
	c  uint64
}

// maxGPDistance bounds how far behind a function's entry such a sum begins, in bytes.
const maxGPDistance = 256

// entry is the function that the prologue names where gp has a value; false where the
// prologue lies too far from there.
func (p *gpPrologue) entry(gp uint64, arch *cpu.Arch) (uint64, bool) {
	e := (gp - p.c) & arch.AddrMask()
	return e, p.at-e <= maxGPDistance
}

// gpPrologues adds the entries of functions that compute gp from their own address, and returns
// the value of gp; none where too few functions agree on a value.
func (c *collector) gpPrologues() (gp constants) {
	arch := c.code.Arch
	if arch.SelfRegs == 0 || arch.Globals == 0 {
		return gp
	}
	scan := gpScan{arch: arch}
	c.code.Text(scan.text)
	value, ok := agreedGP(c.code, scan.found)
	if !ok {
		return gp
	}
	for i := range scan.found {
		if e, ok := scan.found[i].entry(value, arch); ok && e&3 == 0 {
			c.add(disasm.Addr{PC: e})
		}
	}
	gp.setAll(arch.Globals, absint.Signed(value, arch))
	return gp
}

// minAgreed is how many called functions must agree on gp.
const minAgreed = 3

// agreedGP is the value of gp by which most prologues name a place that code calls
// directly.
func agreedGP(code disasm.Code, found []gpPrologue) (uint64, bool) {
	called := calledInMode0(code)
	best, most := uint64(0), 0
	for _, gp := range gpCandidates(code, found) {
		n := 0
		for i := range found {
			e, near := found[i].entry(gp, code.Arch)
			if _, ok := slices.BinarySearch(called, e); ok && near {
				n++
			}
		}
		if n > most {
			best, most = gp, n
		}
	}
	return best, most >= minAgreed
}

// maxGPCandidates bounds the values of gp that are tried.
const maxGPCandidates = 12

// gpCandidates are values that gp may have: first the value that the GOT's address suggests, then
// the sums of a prologue's address and constant, the most frequent sums first.
func gpCandidates(code disasm.Code, found []gpPrologue) (values []uint64) {
	mask := code.Arch.AddrMask()
	count := map[uint64]int{} // at most maxPrologues
	for _, p := range found {
		count[(p.at+p.c)&mask]++
	}
	if got, ok := code.Img.Sections.Named(".got"); ok {
		values = append(values, (got.Addr+code.Arch.GPBias)&mask)
	}
	for len(values) < maxGPCandidates && len(count) > 0 {
		top, most := uint64(0), 0
		for gp, n := range count {
			if n > most || n == most && gp < top {
				top, most = gp, n
			}
		}
		delete(count, top)
		values = append(values, top)
	}
	return values
}

// calledInMode0 are the targets of direct calls in the ordinary instruction set.
func calledInMode0(code disasm.Code) keys {
	targets := disasm.NewSet(code)
	code.EachRef(code.Calls(0), func(r *cpu.CallRef) bool {
		if r.TargetMode == 0 {
			targets.Add(disasm.Addr{PC: r.Target})
		}
		return true
	})
	return targets.Keys()
}

// maxPrologues bounds the prologues kept of one image.
const maxPrologues = 1 << 18

// gpScan is the linear pass that finds the prologues.
type gpScan struct {
	arch         *cpu.Arch
	parts, sums  constants           // registers that hold a constant, and own address + constant
	began        [cpu.MaxRegs]uint64 // where the computation of a part or sum began
	skipped      int64               // what the code has added to its own address
	found        []gpPrologue
	instructions [256]cpu.Insn
}

func (s *gpScan) text(addr uint64, text []byte) {
	for len(text) > 0 && len(s.found) < maxPrologues {
		n := s.arch.Decoder.Decode(text, addr, 0, s.instructions[:])
		if n == 0 {
			return
		}
		size := uint64(0)
		for i := range n {
			s.step(&s.instructions[i], addr+size)
			size += uint64(s.instructions[i].Len)
		}
		addr, text = addr+size, text[size:]
	}
}

// step follows one instruction. A sum counts when all of its parts are in it: its low half
// is not zero, or something is added to the sum.
func (s *gpScan) step(in *cpu.Insn, at uint64) {
	switch in.Op {
	case cpu.OpConst:
		s.forget(in)
		s.parts.set(in.Dst, in.Imm)
		s.begin(in.Dst, at)
	case cpu.OpAddImm:
		s.addImm(in)
	case cpu.OpAdd:
		s.add(in)
	default:
		s.forget(in)
	}
}

// addImm completes a part (addiu gp,gp,31112) or a sum.
//
// glibc's resolver for MIPS saves gp first and moves t9 along, so that the sum begins where
// t9 then points: move v1,gp; addiu sp,sp,-40; addiu t9,t9,12; lui gp; addiu gp; addu gp,t9.
func (s *gpScan) addImm(in *cpu.Insn) {
	part, isPart := s.parts.get(in.Src)
	sum, isSum := s.sums.get(in.Src)
	if !isPart && !isSum && in.Dst == in.Src && s.arch.SelfRegs.Has(in.Dst) {
		s.skipped += in.Imm
		return
	}
	s.forget(in)
	switch {
	case isPart:
		s.parts.set(in.Dst, part+in.Imm)
		s.begin(in.Dst, s.began[in.Src])
	case isSum:
		s.sums.set(in.Dst, sum+in.Imm)
		s.begin(in.Dst, s.began[in.Src])
		s.take(in.Dst)
	}
}

// add makes a sum of a part and of the register that holds the function's own address.
func (s *gpScan) add(in *cpu.Insn) {
	from, self := in.Src, in.Src2
	if s.arch.SelfRegs.Has(from) {
		from, self = self, from
	}
	part, ok := s.parts.get(from)
	s.forget(in)
	if !ok || in.Scale != 0 || !s.arch.SelfRegs.Has(self) {
		return
	}
	s.sums.set(in.Dst, part+s.skipped)
	s.begin(in.Dst, s.began[from])
	if part&0xffff != 0 {
		s.take(in.Dst)
	}
}

// forget drops what was known of the registers that an instruction writes. Behind a
// transfer another function may begin.
func (s *gpScan) forget(in *cpu.Insn) {
	written := in.List.With(in.Dst)
	s.parts.forget(written)
	s.sums.forget(written)
	switch {
	case in.Op == cpu.OpCall, in.Op == cpu.OpJump, in.Op == cpu.OpReturn, s.arch.SelfRegs&written != 0:
		s.skipped = 0
	}
}

func (s *gpScan) begin(r cpu.Reg, at uint64) {
	if r < cpu.MaxRegs {
		s.began[r] = at
	}
}

// take records a finished sum.
func (s *gpScan) take(r cpu.Reg) {
	if c, ok := s.sums.get(r); ok {
		s.found = append(s.found, gpPrologue{s.began[r], uint64(c)})
	}
}
