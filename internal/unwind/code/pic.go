package code

import (
	"slices"

	"github.com/backsight/backsight/cpu"
)

// Position-independent MIPS code computes gp from its own address, which the
// caller leaves in t9:
//
//	401a38  lui   gp,0xa          o32: first in the function
//	401a3c  addiu gp,gp,31112
//	401a40  addu  gp,gp,t9        gp = entry + c, with c = 0xa7988
//
// or, on n32 and n64, lui; daddu t9; daddiu, spread over the prologue. gp is one
// value throughout an image, so that each place names its function's entry exactly,
// gp − c, although nothing calls it by name: the GOT does. Static functions that
// only indirect calls reach, and which end in a call that never returns, are found
// by nothing else (deep.constprop.0 of a -O3 build for mipsr6).

// selfSum is a place where code adds a constant to its own address.
type selfSum struct {
	at  uint64 // of the first instruction of the sum
	sum uint64 // the constant
}

// maxSelf bounds the distance from a function's entry to the sum.
const maxSelf = 256

// selfEntries adds the entries that such sums name, and keeps gp.
func (c *collector) selfEntries() {
	arch := c.an.arch
	if arch.SelfRegs == 0 || arch.Globals == 0 {
		return
	}
	var w selfScan
	w.arch = arch
	c.an.text(w.scan)
	gp, ok := c.an.agreedGlobal(w.found)
	if !ok {
		return
	}
	c.an.global, c.an.hasGlobal = gp, true
	for _, s := range w.found {
		if e := (gp - s.sum) & arch.AddrMask(); s.at-e <= maxSelf && e&3 == 0 {
			c.add(e, 0)
		}
	}
}

// agreedGlobal is the value of gp by which most sums name a place that code calls
// directly. Candidates are the one that the GOT's place suggests (it lies 0x7ff0
// behind the GOT's start, System V ABI MIPS supplement, chapter 5) and those by
// which many functions begin with their sum.
func (an *analysis) agreedGlobal(sums []selfSum) (uint64, bool) {
	targets := an.callTargets()
	best, most := uint64(0), 0
	for _, gp := range an.globalCandidates(sums) {
		n := 0
		for _, s := range sums {
			e := (gp - s.sum) & an.arch.AddrMask()
			if _, ok := slices.BinarySearch(targets, e); ok && s.at-e <= maxSelf {
				n++
			}
		}
		if n > most {
			best, most = gp, n
		}
	}
	return best, most >= minAgreed
}

// minAgreed is how many called functions must agree on gp.
const minAgreed = 3

// globalCandidates lists values that gp may have.
func (an *analysis) globalCandidates(sums []selfSum) (out []uint64) {
	const most = 12
	count := map[uint64]int{}
	for _, s := range sums {
		count[(s.at+s.sum)&an.arch.AddrMask()]++
	}
	if got, ok := an.img.Section(".got"); ok {
		out = append(out, (got.Addr+0x7ff0)&an.arch.AddrMask())
	}
	for len(out) < most && len(count) > 0 {
		top, n := uint64(0), 0
		for gp, k := range count {
			if k > n || k == n && gp < top {
				top, n = gp, k
			}
		}
		delete(count, top)
		out = append(out, top)
	}
	return out
}

// callTargets are the targets of direct calls in the ordinary instruction set, by
// one linear pass.
func (an *analysis) callTargets() (keys []uint64) {
	var refs []cpu.CallRef
	an.text(func(addr uint64, code []byte) { refs = an.arch.Decoder.Calls(code, addr, 0, refs) })
	for _, r := range refs {
		if r.TargetMode == 0 {
			keys = append(keys, r.Target)
		}
	}
	return sortKeys(keys)
}

// selfScan is the linear pass that finds the sums. Its registers hold constants
// (konst) and sums (indexed).
type selfScan struct {
	arch  *cpu.Arch
	regs  [cpu.MaxRegs]value
	start [cpu.MaxRegs]uint64
	found []selfSum
	insns [256]cpu.Insn
}

// maxSums bounds the sums kept of one image.
const maxSums = 1 << 18

func (w *selfScan) scan(addr uint64, code []byte) {
	for len(code) > 0 && len(w.found) < maxSums {
		n := w.arch.Decoder.Decode(code, addr, 0, w.insns[:])
		if n == 0 {
			return
		}
		size := uint64(0)
		for i := range n {
			w.step(&w.insns[i], addr+size)
			size += uint64(w.insns[i].Len)
		}
		addr, code = addr+size, code[size:]
	}
}

// step follows one instruction. A sum counts when it has all of its parts: its
// low half is not zero, or it is used.
func (w *selfScan) step(in *cpu.Insn, at uint64) {
	switch in.Op {
	case cpu.OpConst:
		w.set(in.Dst, constant(in.Imm), at)
	case cpu.OpAddImm:
		v, from := w.get(in.Src), w.start[in.Src&31]
		if v.kind == konst || v.kind == indexed {
			w.set(in.Dst, v.plus(in.Imm), from)
			w.take(in.Dst)
			return
		}
		w.set(in.Dst, value{}, at)
	case cpu.OpAdd:
		a, b := in.Src, in.Src2
		if w.arch.SelfRegs.Has(a) {
			a, b = b, a
		}
		if v := w.get(a); in.Scale == 0 && w.arch.SelfRegs.Has(b) && v.kind == konst {
			w.set(in.Dst, value{kind: indexed, off: v.off}, w.start[a&31])
			if v.off&0xffff != 0 {
				w.take(in.Dst)
			}
			return
		}
		w.set(in.Dst, value{}, at)
	default:
		if in.Dst < cpu.MaxRegs {
			w.set(in.Dst, value{}, at)
		}
		for s := in.List; s != 0; s = s.Without(s.First()) {
			w.set(s.First(), value{}, at)
		}
	}
}

func (w *selfScan) get(r cpu.Reg) value {
	if r >= 32 {
		return value{}
	}
	return w.regs[r]
}

func (w *selfScan) set(r cpu.Reg, v value, from uint64) {
	if r < 32 {
		w.regs[r], w.start[r] = v, from
	}
}

// take records a finished sum.
func (w *selfScan) take(r cpu.Reg) {
	if v := w.get(r); v.kind == indexed {
		w.found = append(w.found, selfSum{w.start[r], uint64(v.off)})
	}
}
