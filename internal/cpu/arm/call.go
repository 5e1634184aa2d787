package arm

import "github.com/backsight/backsight/cpu"

// CallBefore implements cpu.Decoder: BL, BLX and, in A32, the jump behind a
// "mov lr,pc".
func (d decoder) CallBefore(before []byte, ra uint64, mode cpu.Mode) (cpu.CallSite, bool) {
	if mode != 0 {
		return d.thumbCallBefore(before, uint32(ra))
	}
	var out [2]cpu.Insn
	tail := before[max(len(before)-8, 0):]
	tail = tail[len(tail)&3:]
	n := d.decodeA32(tail, uint32(ra)-uint32(len(tail)), out[:])
	if n == 0 {
		return cpu.CallSite{}, false
	}
	return callSite(&out[n-1], uint32(ra))
}

// callSite describes o, which ends at ra, if it is a call.
func callSite(o *cpu.Insn, ra uint32) (cpu.CallSite, bool) {
	if o.Op != cpu.OpCall {
		return cpu.CallSite{}, false
	}
	return cpu.CallSite{
		Addr:       uint64(ra - uint32(o.Len)),
		Target:     o.Target,
		TargetMode: o.TargetMode,
		Direct:     o.Src == cpu.NoReg && o.Flags&cpu.FlagMemory == 0,
	}, true
}

// thumbCallBefore looks for BLX (register) in two bytes, BL or BLX (immediate) in four, and a jump of two
// behind an "adr.w lr". The second half of another instruction can look like the
// former (f8d0 4798 is ldr.w r4,[r0,#1944]), so the boundaries count. They do not for a BL whose second half looks like a first
// one, as all have that go no further than 4 MB: were its first half the end of something, the second would begin an
// instruction that goes on behind ra. Example: a function that begins with a BL behind a literal 0xf8d2xxxx.
func (d decoder) thumbCallBefore(before []byte, ra uint32) (cpu.CallSite, bool) {
	var out [1]cpu.Insn
	for _, size := range [2]int{2, 4} {
		at := len(before) - size
		if at < 0 || d.decodeT32(before[at:], ra-uint32(size), out[:]) == 0 || int(out[0].Len) != size {
			continue
		}
		if s, ok := callSite(&out[0], ra); ok && (d.startsAt(before, at) || size == 4 && d.half(before[at+2:]) >= firstHalf) {
			return s, true
		}
	}
	var linked [2]cpu.Insn
	if at := len(before) - 6; at >= 0 && d.halves(before[at:])&adrMask == adrLR && d.decodeT32(before[at:], ra-6, linked[:]) == 2 && d.startsAt(before, at) {
		return callSite(&linked[1], ra)
	}
	return cpu.CallSite{}, false
}

// firstHalf is the least halfword that is the first of two.
const firstHalf = 0xe800

// pushWide is the first half of stmdb sp!. No instruction that makes sense has
// it as its second half.
const pushWide = 0xe92d

// startsAt tells whether an instruction can start at offset at: the first of two
// halfwords is recognised by its bits, so one that is no such first half ends an
// instruction, and from its end on the boundaries are known. Where all halfwords
// in sight look like first halves nothing is known, and the answer is yes; but
// not behind e92d: push.w {r4-r10,lr} is e92d 47f0, whose half is blx lr, and
// often the first instruction of a function behind a literal pool.
func (d decoder) startsAt(code []byte, at int) bool {
	if at >= 2 && d.half(code[at-2:]) == pushWide {
		return false
	}
	firsts := 0
	for i := at - 2; i >= 0; i -= 2 {
		if d.half(code[i:]) < firstHalf {
			return firsts&1 == 0
		}
		firsts++
	}
	return true
}

// Calls implements cpu.Decoder. BL and BLX are calls; B, which also jumps within
// a function, is not reported.
func (d decoder) Calls(code []byte, pc uint64, mode cpu.Mode, dst []cpu.CallRef) []cpu.CallRef {
	if mode != 0 {
		return d.thumbCalls(code, uint32(pc), dst)
	}
	return d.wordCalls(code, pc, dst)
}

func (d decoder) wordCalls(code []byte, pc uint64, dst []cpu.CallRef) []cpu.CallRef {
	for at := uint32(pc); len(code) >= 4; at, code = at+4, code[4:] {
		w := d.word(code)
		var target uint32
		var to cpu.Mode
		switch {
		case w>>25 == 0x7d: // blx
			target, to = at+8+signed(w, 24)<<2+w>>23&2, 1
		case w>>24&15 == 11 && w>>28 != condNV: // bl
			target = at + 8 + signed(w, 24)<<2
		default:
			continue
		}
		if target != at+4 || to != 0 || !d.readsPC(code, uint64(at), 0) {
			dst = append(dst, cpu.CallRef{Site: uint64(at), Target: uint64(target), TargetMode: to})
		}
	}
	return dst
}

// thumbCalls steps by instructions. Data in between puts it out of step only
// until the next halfword that is no first half of two.
func (d decoder) thumbCalls(code []byte, at uint32, dst []cpu.CallRef) []cpu.CallRef {
	for len(code) >= 4 {
		h := d.half(code)
		if h < firstHalf {
			at, code = at+2, code[2:]
			continue
		}
		w := h<<16 | d.half(code[2:])
		switch w & 0xf800_d001 {
		case 0xf000_d000, 0xf000_d001: // bl
			if target := at + 4 + longOffset(w); target != at+4 || !d.readsPC(code, uint64(at), 1) {
				dst = append(dst, cpu.CallRef{Site: uint64(at), Target: uint64(target), TargetMode: 1})
			}
		case 0xf000_c000: // blx
			if !d.micro {
				dst = append(dst, cpu.CallRef{Site: uint64(at), Target: uint64((at+4)&^3 + longOffset(w))})
			}
		}
		at, code = at+4, code[4:]
	}
	return dst
}

// InStep implements cpu.Decoder: what Calls finds is in step.
func (decoder) InStep(_ []byte, _ int, _ cpu.Mode, calls *cpu.CallBlock) bool {
	*calls = cpu.AllCalls()
	return true
}
