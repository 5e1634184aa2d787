package mips

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/stepping"
)

// CallBefore implements cpu.Decoder. In the standard encoding a return address
// is 8 behind its call, which has a delay slot; release 6's compact calls have
// none and return to the next word. mode is that of the return address: a call
// into the other encoding links in the caller's own.
func (d *decoder) CallBefore(before []byte, ra uint64, mode cpu.Mode) (cpu.CallSite, bool) {
	ra &= d.mask
	switch {
	case mode == 0:
		return standardDecoder{&d.processor}.callBefore(before, ra)
	case ra&1 != 0:
		return cpu.CallSite{}, false
	case d.micro:
		return microDecoder{&d.processor}.callBefore(before, ra)
	}
	return mips16Decoder{&d.processor}.callBefore(before, ra)
}

func (d standardDecoder) callBefore(before []byte, ra uint64) (cpu.CallSite, bool) {
	n := len(before)
	if ra&3 != 0 || n < 4 {
		return cpu.CallSite{}, false
	}
	var i cpu.Insn
	if d.r6 {
		begin(&i, 4)
		d.insn(d.word(before[n-4:]), (ra-4)&d.mask, &i)
		if i.Op == cpu.OpCall && i.Flags&slot == 0 {
			return d.site(&i, ra-4)
		}
	}
	if n < 8 {
		return cpu.CallSite{}, false
	}
	begin(&i, 4)
	d.insn(d.word(before[n-8:]), (ra-8)&d.mask, &i)
	if i.Op != cpu.OpCall || i.Flags&slot == 0 {
		return cpu.CallSite{}, false
	}
	return d.site(&i, ra-8)
}

// site makes a call site of a decoded call: one that links in ra and is no
// reading of the PC.
func (d *processor) site(i *cpu.Insn, addr uint64) (cpu.CallSite, bool) {
	if i.Op != cpu.OpCall || i.Dst != RA || i.Flags&cpu.FlagGetPC != 0 {
		return cpu.CallSite{}, false
	}
	s := cpu.CallSite{Addr: addr & d.mask, Direct: i.Src == cpu.NoReg}
	if s.Direct {
		s.Target, s.TargetMode = i.Target, i.TargetMode
	}
	return s, true
}

// Calls implements cpu.Decoder.
func (d *decoder) Calls(code []byte, pc uint64, mode cpu.Mode, dst []cpu.CallRef) []cpu.CallRef {
	had := len(dst)
	switch {
	case mode == 0:
		dst = standardDecoder{&d.processor}.calls(code, pc, dst)
	case d.micro:
		dst = microDecoder{&d.processor}.calls(code, pc, dst)
	default:
		return mips16Decoder{&d.processor}.calls(code, pc, dst)
	}
	behind := had
	for _, r := range dst[had:] {
		if r.Target-r.Site > stepping.LongestCall || !d.readsPC(code[(r.Site-pc)&d.mask:], r.Site, mode) {
			dst[behind] = r
			behind++
		}
	}
	return dst[:behind]
}

// calls decodes only the few words whose opcode may be a direct call.
func (d standardDecoder) calls(code []byte, pc uint64, dst []cpu.CallRef) []cpu.CallRef {
	for ; len(code) >= 4; code, pc = code[4:], pc+4 {
		w := d.word(code)
		if calls>>w.op()&1 == 0 {
			continue
		}
		var i cpu.Insn
		begin(&i, 4)
		d.insn(w, pc&d.mask, &i)
		dst = d.appendCall(dst, &i, pc, absolute>>w.op()&1 != 0)
	}
	return dst
}

// calls has a bit for each opcode with direct calls: regimm (bal), jal, jalx
// and release 6's balc. The conditional ones that also link are in regimm and
// in POP06–POP30; compilers do not call with the latter.
const calls uint64 = 1<<0x01 | 1<<0x03 | 1<<0x1d | 1<<0x3a

// absolute has a bit for each of them that holds the target itself: jal and jalx.
const absolute uint64 = 1<<0x03 | 1<<0x1d

// appendCall appends a direct call. One under a condition on a register (bltzal s3) is one
// that no compiler makes: such a word is data, like 06702b20, the hash of the symbol version
// OPENSSL_3.0.0 in the executable segment of Debian's openssl.
func (d *processor) appendCall(dst []cpu.CallRef, i *cpu.Insn, pc uint64, absolute bool) []cpu.CallRef {
	if i.Flags&cpu.FlagConditional != 0 {
		return dst
	}
	if s, ok := d.site(i, pc); ok && s.Direct {
		return append(dst, cpu.CallRef{Site: s.Addr, Target: s.Target, TargetMode: s.TargetMode, Absolute: absolute})
	}
	return dst
}

// InStep implements cpu.Decoder: what Calls finds is in step.
func (*decoder) InStep(_ []byte, _ int, _ cpu.Mode, calls *cpu.CallBlock) bool {
	*calls = cpu.AllCalls()
	return true
}
