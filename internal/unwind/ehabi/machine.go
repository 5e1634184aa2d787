package ehabi

import (
	"math/bits"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
)

// machine executes bytecodes symbolically: instead of popping registers, the machine notes where
// they lie.
type machine struct {
	arch   *cpu.Arch
	vsp    place
	popped uint16 // r0 to r15
	slots  [16]place
}

// place is an address: register + off, or with indirect what is stored there,
// + add.
type place struct {
	base     cpu.Reg
	off      int64
	indirect bool
	add      int64
}

func (p *place) move(n int64) {
	if p.indirect {
		p.add += n
	} else {
		p.off += n
	}
}

// Registers by their number in bytecodes and in DWARF.
const (
	sp = 13
	lr = 14
	pc = 15
)

// finish is the bytecode that ends a sequence.
const finish = 0xb0

// run executes p (EHABI32 section 10.3, table 4).
func (m *machine) run(p *program) unwind.Verdict {
	for {
		op := p.byte()
		switch {
		case op == finish:
			return unwind.Found
		case op < 0x40: // 00xxxxxx: vsp += (xxxxxx << 2) + 4
			m.vsp.move(int64(op)<<2 + 4)
		case op < 0x80: // 01xxxxxx: vsp -= (xxxxxx << 2) + 4
			m.vsp.move(-(int64(op&0x3f)<<2 + 4))
		default:
			if v := m.step(op, p); v != unwind.Found {
				return v
			}
		}
	}
}

// step executes a bytecode from 0x80 on, other than finish.
func (m *machine) step(op uint8, p *program) unwind.Verdict {
	switch op >> 4 {
	case 0x8: // 1000iiii iiiiiiii: pop r4 to r15 under mask; refuse
		mask := uint16(op&0xf)<<8 | uint16(p.byte())
		if mask == 0 {
			return unwind.NotCovered
		}
		return m.pop(mask << 4)
	case 0x9: // 1001nnnn: vsp = r[n]
		return m.assign(op & 0xf)
	case 0xa: // 1010Lnnn: pop r4 to r[4+n], and lr if L
		mask := uint16(1)<<(op&7+1) - 1
		return m.pop(mask<<4 | uint16(op>>3&1)<<lr)
	case 0xb:
		return m.stepB(op, p)
	case 0xc:
		return m.stepC(op, p)
	case 0xd: // 11010nnn: d8 to d[8+n], saved by vpush
		if op < 0xd8 {
			m.vsp.move(8 * int64(op&7+1))
			return unwind.Found
		}
	}
	return unwind.Unsupported
}

func (m *machine) stepB(op uint8, p *program) unwind.Verdict {
	switch op {
	case 0xb1: // 0000iiii: pop r0 to r3 under mask
		mask := p.byte()
		if mask == 0 || mask > 0xf {
			return unwind.Unsupported
		}
		return m.pop(uint16(mask))
	case 0xb2: // uleb128: vsp += 0x204 + (uleb128 << 2)
		m.vsp.move(0x204 + int64(p.uleb())<<2)
	case 0xb3: // sssscccc: d[s] to d[s+c], saved by fstmfdx with its format word
		m.vsp.move(8*int64(p.byte()&0xf+1) + 4)
	case 0xb4: // the return address's authentication code
		m.vsp.move(4)
	case 0xb5: // vsp is the modifier of that code
	case 0xb6, 0xb7:
		return unwind.Unsupported
	default: // 10111nnn: d8 to d[8+n], saved by fstmfdx
		m.vsp.move(8*int64(op&7+1) + 4)
	}
	return unwind.Found
}

func (m *machine) stepC(op uint8, p *program) unwind.Verdict {
	switch op {
	default: // 11000nnn: wR10 to wR[10+n]
		m.vsp.move(8 * int64(op&7+1))
	case 0xc6, 0xc8, 0xc9: // sssscccc: wR[s] to wR[s+c]; d[16+s] …, d[s] … by vpush
		m.vsp.move(8 * int64(p.byte()&0xf+1))
	case 0xc7: // 0000iiii: wCGR0 to wCGR3 under mask
		mask := p.byte()
		if mask == 0 || mask > 0xf {
			return unwind.Unsupported
		}
		m.vsp.move(4 * int64(bits.OnesCount8(mask)))
	case 0xca, 0xcb, 0xcc, 0xcd, 0xce, 0xcf:
		return unwind.Unsupported
	}
	return unwind.Found
}

// assign sets vsp to register n: its value in the frame, or what a pop before
// restored.
func (m *machine) assign(n uint8) unwind.Verdict {
	if n == sp || n == pc {
		return unwind.Unsupported // reserved
	}
	if m.popped>>n&1 != 0 {
		m.vsp = m.slots[n]
		m.vsp.indirect = true
		return unwind.Found
	}
	r, ok := m.arch.RegByDWARF(uint64(n))
	if !ok {
		return unwind.Unsupported
	}
	m.vsp = place{base: r}
	return unwind.Found
}

// pop notes the slots of the registers in mask, ascending. Popping sp makes its
// value the vsp once all are popped (APCS frames: pop {fp, sp, lr}).
func (m *machine) pop(mask uint16) unwind.Verdict {
	if m.vsp.indirect {
		return unwind.Unsupported // the address of the slots is in memory
	}
	for left := mask; left != 0; left &= left - 1 {
		n := bits.TrailingZeros16(left)
		m.slots[n] = m.vsp
		m.vsp.off += 4
	}
	m.popped |= mask
	if mask>>sp&1 != 0 {
		m.vsp = m.slots[sp]
		m.vsp.indirect = true
	}
	return unwind.Found
}

// wholeContext are the registers that only a signal frame restores together.
const wholeContext = 1<<sp | 1<<lr | 1<<pc

// rule tells in out what the bytecodes have done: the CFA is the final vsp, the
// return address what was popped into pc, or else into lr, or else lr itself.
//
// glibc's __default_sa_restorer pops r0 to r15 from the signal context. The ISA
// mode of the interrupted code is not in its pc but in the CPSR, which bytecodes
// cannot restore; so that is left to who knows signal frames.
func (m *machine) rule(out *stackwalk.Rule) unwind.Verdict {
	if m.popped&wholeContext == wholeContext {
		return unwind.Unsupported
	}
	out.CFA = stackwalk.RegRule{Kind: stackwalk.RegPlus, Reg: cpu.NoReg, Base: m.vsp.base, Off: m.vsp.off}
	if m.vsp.indirect {
		out.CFA.Kind, out.CFA.Add = stackwalk.AtReg, m.vsp.add
	}
	switch {
	case m.popped>>pc&1 != 0:
		out.RA = m.saved(pc)
	case m.popped>>lr&1 != 0:
		out.RA = m.saved(lr)
	default:
		out.RA = stackwalk.RegRule{Kind: stackwalk.SameValue, Base: m.arch.LR}
	}
	out.RA.Reg = cpu.NoReg
	for left := m.popped &^ (1<<sp | 1<<lr | 1<<pc); left != 0; left &= left - 1 {
		n := bits.TrailingZeros16(left)
		rr := m.saved(n)
		r, ok := m.arch.RegByDWARF(uint64(n))
		if !ok {
			return unwind.Unsupported
		}
		rr.Reg = r
		out.Add(rr)
	}
	return unwind.Found
}

// saved is the rule of a popped register: relative to the CFA where they have the
// same base.
func (m *machine) saved(n int) stackwalk.RegRule {
	s := &m.slots[n]
	if s.base == m.vsp.base && !m.vsp.indirect {
		return stackwalk.RegRule{Kind: stackwalk.AtCFA, Base: cpu.NoReg, Off: s.off - m.vsp.off}
	}
	return stackwalk.RegRule{Kind: stackwalk.AtReg, Base: s.base, Off: s.off}
}
