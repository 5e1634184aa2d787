package discover

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/code/disasm"
)

// Position-independent MIPS16 code finds gp without t9, from the PC, with the first four
// instructions of a function. GCC emits no such sum elsewhere:
//
//	f000 6a02  li   v0,2
//	f650 0b1c  la   v1,9970       relative to the PC
//	f400 3240  sll  v0,16
//	e269       addu v0,v1         gp
//
// Landing pads end in a call through the GOT that never returns, and what stands behind is the
// next function, which only the GOT names.

// gpSum16 is where such a sum begins, and what it comes to.
type gpSum16 struct{ at, gp uint64 }

// size16 is the size of the four instructions, in bytes, and extend the upper five bits of the
// first, EXTEND (MIPS16e Application-Specific Extension, "Extensible Instructions").
const (
	size16 = 14
	extend = 0x1e
)

// gpPrologues16 adds the functions that begin with a sum to the value that the most come to.
func (c *collector) gpPrologues16() {
	found := c.gpSums16()
	count := map[uint64]int{} // at most maxPrologues
	gp := uint64(0)
	for _, s := range found {
		count[s.gp]++
		if n := count[s.gp]; n > count[gp] || n == count[gp] && s.gp < gp {
			gp = s.gp
		}
	}
	for _, s := range found {
		if s.gp == gp && count[gp] >= minAgreed {
			c.add(disasm.Addr{PC: s.at, Mode: 1})
		}
	}
}

// gpSums16 finds the sums in one pass over the words of the text.
func (c *collector) gpSums16() (found []gpSum16) {
	arch := c.code.Arch
	upper := 1 // of a halfword's bytes
	if arch.BigEndian {
		upper = 0
	}
	var in [4]cpu.Insn
	c.code.Text(func(addr uint64, text []byte) {
		for i := int(-addr & 3); i+size16 <= len(text) && len(found) < maxPrologues; i += 4 {
			if text[i+upper]>>3 != extend || arch.Decoder.Decode(text[i:i+size16], addr+uint64(i), 1, in[:]) != len(in) {
				continue
			}
			if gp, ok := gpSum(&in); ok {
				found = append(found, gpSum16{addr + uint64(i), gp & arch.AddrMask()})
			}
		}
	})
	return found
}

// gpSum is what the four instructions of a sum come to; false where they are others.
func gpSum(in *[4]cpu.Insn) (uint64, bool) {
	high, low, shift, sum := &in[0], &in[1], &in[2], &in[3]
	ok := high.Op == cpu.OpConst && low.Op == cpu.OpConst && high.Dst != low.Dst &&
		shift.Op == cpu.OpShlImm && shift.Dst == high.Dst && shift.Src == high.Dst && shift.Imm == 16 &&
		sum.Op == cpu.OpAdd && (sum.Src == high.Dst && sum.Src2 == low.Dst || sum.Src == low.Dst && sum.Src2 == high.Dst)
	return uint64(high.Imm<<16 + low.Imm), ok
}
