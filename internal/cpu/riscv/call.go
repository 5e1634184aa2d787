package riscv

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// CallBefore implements cpu.Decoder. The call is jal or jalr of 4 bytes that
// links in ra or t0, or c.jalr, c.jal (RV32), cm.jalt of 2.
//
// The end of any 4-byte instruction may look like c.jalr, and the half before a
// c.jalr like the beginning of jal. So a reading counts only if the code further
// ahead leads to its first byte, unless that leads to neither; if both are
// possible the longer one counts, as it fixes more bits.
func (d decoder) CallBefore(before []byte, ra uint64, _ cpu.Mode) (cpu.CallSite, bool) {
	long, okLong := d.call(before, ra, 4)
	short, okShort := d.call(before, ra, 2)
	if !okLong && !okShort || ra&1 != 0 {
		return cpu.CallSite{}, false
	}
	to4, to2 := reaches(before, 4), reaches(before, 2)
	switch {
	case okLong && (to4 || !to2):
		return long, true
	case okShort && (to2 || !to4):
		return short, true
	}
	return cpu.CallSite{}, false
}

// call decodes the size bytes that end before as a call.
func (d decoder) call(before []byte, ra uint64, size int) (cpu.CallSite, bool) {
	start := len(before) - size
	if start < 0 {
		return cpu.CallSite{}, false
	}
	if _, is := fetch(before[start:]); is != size {
		return cpu.CallSite{}, false
	}
	pc := d.addr(ra - uint64(size))
	var buf [2]cpu.Insn
	n := 0
	// The pair auipc, jalr is decoded as one, which resolves its target.
	if size == 4 && start >= 4 && before[start]&0x7f == opJALR && isUpper(before[start-4]) {
		n = d.Decode(before[start-4:], d.addr(pc-4), 0, buf[:])
	} else {
		n = d.Decode(before[start:], pc, 0, buf[:1])
	}
	if n == 0 {
		return cpu.CallSite{}, false
	}
	in := &buf[n-1]
	if in.Op != cpu.OpCall || !isLink(in.Dst) {
		return cpu.CallSite{}, false
	}
	direct := in.Src == cpu.NoReg && in.Flags&cpu.FlagMemory == 0
	return cpu.CallSite{Addr: pc, Target: in.Target, Direct: direct}, true
}

// isUpper tells auipc and lui by their first byte.
func isUpper(b byte) bool { return b&0x7f == opAUIPC || b&0x7f == opLUI }

// reaches tells whether instructions of some start in before end size bytes
// ahead of its end. With lengths of 2 and 4, one of two neighbouring halves is
// the start of an instruction; both are tried. They fall into step soon.
func reaches(before []byte, size int) bool {
	const window = 32
	end := len(before) - size
	start := end & 1
	if end > window {
		start = end - window
	}
	return walk(before, start, end) || walk(before, start+2, end)
}

// walk tells whether end is the start of an instruction when at is one.
func walk(code []byte, at, end int) bool {
	for at < end {
		_, n := fetch(code[at:])
		if n == 0 {
			return false
		}
		at += n
	}
	return at == end
}

// Calls implements cpu.Decoder: jal and c.jal, auipc+jalr and lui+jalr pairs,
// and the far tail call auipc t1; jalr zero,t1. Of plain jumps a scan cannot
// tell whether they leave their function.
func (d decoder) Calls(code []byte, pc uint64, _ cpu.Mode, dst []cpu.CallRef) []cpu.CallRef {
	for at := 0; ; {
		_, size := fetch(code[at:])
		if size == 0 {
			return dst
		}
		if target, ok := d.directCall(code[at:], pc+uint64(at), size); ok {
			site := d.addr(pc + uint64(at))
			if size == 4 && isUpper(code[at]) {
				site = d.addr(site + 4)
			}
			dst = append(dst, cpu.CallRef{Site: site, Target: target})
		}
		at += size
	}
}

// directCall tells whether code begins with a direct call or a far tail call.
func (d decoder) directCall(code []byte, pc uint64, size int) (target uint64, ok bool) {
	if size == 2 {
		h := uint32(binary.LittleEndian.Uint16(code))
		if d.rv64 || h&0xe003 != 0x2001 {
			return 0, false
		}
		return d.addr(pc + uint64(immCJ(h))), true
	}
	w := binary.LittleEndian.Uint32(code)
	switch w & 0x7f {
	case opJAL:
		return d.addr(pc + uint64(immJ(w))), isLink(reg(w, 7))
	case opAUIPC, opLUI:
		if len(code) < 8 {
			return 0, false
		}
		return d.farCall(w, binary.LittleEndian.Uint32(code[4:]), pc)
	}
	return 0, false
}

// farCall resolves auipc or lui followed by jalr through the same register. A
// jump through t0 is not taken for a tail call: assemblers write far jumps
// within a function that way.
func (d decoder) farCall(upper, w uint32, pc uint64) (target uint64, ok bool) {
	rd, rs1 := reg(w, 7), reg(w, 15)
	if w&0x707f != opJALR || rs1 != reg(upper, 7) || rs1 == Zero {
		return 0, false
	}
	base := immU(upper)
	if upper&0x7f == opAUIPC {
		base += int64(pc)
	}
	return d.addr(uint64(base+immI(w)) &^ 1), isLink(rd) || rd == Zero && rs1 != T0
}

// InStep implements cpu.Decoder: what Calls finds is in step.
func (decoder) InStep(_ []byte, _ int, _ cpu.Mode, calls *cpu.CallBlock) bool {
	*calls = cpu.AllCalls()
	return true
}
