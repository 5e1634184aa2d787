package device

import (
	"math/bits"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// value is where a value of the caller is: in a register, in a slot of the frame, or in both,
// while a prologue or an epilogue runs. In neither it is lost.
type value struct {
	reg  int8  // a register of the device table's, keeps, or noReg
	slot int32 // words from the CFA, or none
}

const (
	keeps = 16 // value.reg: the register holds its own value
	noReg = -1
	none  = -1 << 31 // value.slot
	// slots that a form can say
	lowestSlot, highestSlot = -126, 126
)

// lost is a value that nothing holds.
func lost() value { return value{noReg, none} }

// and is where both say that the value is; false where they agree on no place.
func (v value) and(o value) (value, bool) {
	if v == o {
		return v, true
	}
	both := lost()
	if v.reg == o.reg {
		both.reg = v.reg
	}
	if v.slot == o.slot {
		both.slot = v.slot
	}
	return both, both != lost()
}

// kind says what is known of a place.
type kind uint8

const (
	unknown kind = iota
	known
	outermost // there is no caller
)

// frame is a rule as device tables say it, but that a value may be in two places.
type frame struct {
	kind           kind
	loaded, signed bool // the CFA is the word at base + off; the return address is signed
	base           int8
	off            int32 // words
	ra             value
	saved          [maxTracked]value
}

// sameCFA tells whether both frames find the CFA in the same way.
func (f *frame) sameCFA(o *frame) bool {
	return f.kind == known && o.kind == known && f.base == o.base && f.off == o.off && f.loaded == o.loaded && f.signed == o.signed
}

// and is what both frames say; false where they contradict one another.
func (f frame) and(o frame) (frame, bool) {
	if f == o {
		return f, true
	}
	if !f.sameCFA(&o) {
		return frame{}, false
	}
	ra, ok := f.ra.and(o.ra)
	f.ra = ra
	for i := range f.saved {
		both, agree := f.saved[i].and(o.saved[i])
		f.saved[i], ok = both, ok && agree
	}
	return f, ok
}

// framer turns rules into frames.
type framer struct {
	arch    *cpu.Arch
	regs    []cpu.Reg
	tracked []cpu.Reg
	frames  []framed // by number of rule
}

// framed is a rule's frame; refused says why it is unknown.
type framed struct {
	frame   frame
	refused string
}

func newFramer(p *tables.Program, tracked []cpu.Reg) *framer {
	f := &framer{arch: p.Image.Arch, regs: registersOf(p.Image.Arch), tracked: tracked}
	for i := range p.Rules {
		fr, refused := f.frame(&p.Rules[i])
		f.frames = append(f.frames, framed{fr, refused})
	}
	return f
}

// of is the frame of a row.
func (f *framer) of(r tables.Row) framed {
	if r.Rule == tables.None {
		return framed{}
	}
	return f.frames[r.Rule]
}

// number is a register's number in device tables, none where it has none.
func (f *framer) number(r cpu.Reg) int8 { return int8(slices.Index(f.regs, r)) }

func (f *framer) frame(r *tables.Rule) (out frame, refused string) {
	if r.RA.Kind == rule.Undefined {
		return frame{kind: outermost}, ""
	}
	out = frame{kind: known, base: f.number(r.CFA.Base), loaded: r.CFA.Kind == rule.AtReg, signed: r.Flags&rule.SignedRA != 0}
	off, fits := f.words(r.CFA.Off)
	out.off = int32(off)
	sp := r.Of(f.arch.SP)
	switch {
	case r.Flags&rule.SignalFrame != 0:
		return frame{}, "" // ports/linux/signal.c knows trampolines by their code
	case r.CFA.Kind != rule.RegPlus && (r.CFA.Kind != rule.AtReg || r.CFA.Add != 0):
		return frame{}, "the CFA is computed"
	case out.base < 0:
		return frame{}, "the CFA is found by " + f.arch.RegName(r.CFA.Base)
	case !fits || off != off<<40>>40:
		return frame{}, "the CFA is too far from its register"
	case sp.Kind != rule.Unspecified && (sp.Kind != rule.CFAPlus || sp.Off != 0):
		return frame{}, "the caller's stack pointer is not the CFA"
	}
	if out.ra = f.value(r, r.RA); out.ra == lost() || out.ra.reg == keeps {
		return frame{}, "the return address is not in a slot near the CFA, nor in a register"
	}
	for i, reg := range f.tracked {
		out.saved[i] = f.value(r, r.Of(reg))
	}
	return out, ""
}

// value is where a rule says that a register's value is.
func (f *framer) value(r *tables.Rule, v rule.Register) value {
	off := v.Off
	switch {
	case v.Kind == rule.Unspecified && v.Reg == cpu.NoReg:
		return lost()
	case v.Kind == rule.Unspecified, v.Kind == rule.SameValue, v.Kind == rule.RegPlus && v.Base == v.Reg && v.Off == 0:
		return value{keeps, none}
	case v.Kind == rule.RegPlus && v.Off == 0 && v.Reg == cpu.NoReg && f.number(v.Base) >= 0:
		return value{f.number(v.Base), none}
	case v.Kind == rule.AtCFA:
	case v.Kind == rule.AtReg && v.Add == 0 && v.Base == r.CFA.Base && r.CFA.Kind == rule.RegPlus:
		off -= r.CFA.Off
	default:
		return lost()
	}
	slot, ok := f.words(off)
	base, _ := f.words(r.CFA.Off) // a slot may be near the base register, far from the CFA
	if ok && (within(slot) || within(slot+base)) {
		return value{noReg, int32(slot)}
	}
	return lost()
}

// within tells whether a form can say a slot.
func within(slot int64) bool { return lowestSlot <= slot && slot <= highestSlot }

// words counts bytes in registers' sizes; false where they are no whole number.
func (f *framer) words(n int64) (int64, bool) {
	size := int64(f.arch.RegSize)
	return n >> bits.TrailingZeros64(uint64(size)), n&(size-1) == 0
}

// worthTracking is the share of the code, one in so many bytes, in which frames must be found by a
// register for the register to be tracked. Registers of a smaller share are tracked only where that is
// cheap: each tracked register may make the table a quarter larger, since all functions that save the
// register have to say where. glibc for MIPS has functions whose variable frames are found by s8 (9 % of the
// code), s6 (0.8 %), s2 (0.6 %), s0, s1, s5, s7.
const worthTracking = 250

// trackedBy chooses the registers to track among the preserved registers: those that enough frames are
// found by, in the order of how much code needs them, and the frame pointer of what is loaded with
// others, whose frames may be found by it. rare are the registers that few frames are found by.
func trackedBy(p *tables.Program) (tracked, rare []cpu.Reg) {
	arch := p.Image.Arch
	var bytes [cpu.MaxRegs]uint64
	total := uint64(0)
	for i := range p.Functions {
		f := &p.Functions[i]
		for k, row := range f.Rows {
			total += f.RowEnd(k) - row.Addr
			if row.Rule == tables.None {
				continue
			}
			for _, v := range []rule.Register{p.Rules[row.Rule].CFA, p.Rules[row.Rule].RA} {
				if (v.Kind == rule.RegPlus || v.Kind == rule.AtReg) && arch.Preserved.Has(v.Base) {
					bytes[v.Base] += f.RowEnd(k) - row.Addr
				}
			}
		}
	}
	found := slices.DeleteFunc(registersOf(arch), func(r cpu.Reg) bool { return bytes[r] == 0 })
	slices.SortStableFunc(found, func(a, b cpu.Reg) int { return int(int64(bytes[b]) - int64(bytes[a])) })
	n := slices.IndexFunc(found, func(r cpu.Reg) bool { return bytes[r]*worthTracking <= total })
	if n < 0 {
		n = len(found)
	}
	n = min(n, maxTracked)
	tracked, rare = found[:n:n], found[n:]
	for _, fp := range framePointers(arch) {
		if p.Image.Relocatable && !slices.Contains(tracked, fp) && len(tracked) < maxTracked {
			tracked = append(tracked, fp)
			rare = slices.DeleteFunc(rare, func(r cpu.Reg) bool { return r == fp })
		}
	}
	return tracked, rare
}

// framePointers are the registers that compilers find frames by; Thumb code has one of its own.
func framePointers(arch *cpu.Arch) []cpu.Reg {
	switch {
	case arch.ELF.Machine == elfARM:
		return []cpu.Reg{7, 11}
	case arch.Preserved.Has(arch.FP):
		return []cpu.Reg{arch.FP}
	}
	return nil
}
