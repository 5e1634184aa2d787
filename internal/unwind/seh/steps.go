package seh

import "github.com/backsight/backsight/internal/bin"

// firstSaved is the register that codes count from.
const firstSaved = 19

// readSteps reads codes up to the end. A prologue goes on behind the end of a part.
func readSteps(codes []byte, prologue bool) (s sequence) {
	for r := bin.New(codes, false); r.Len() > 0; {
		t := readStep(&r)
		s = append(s, t)
		if t.op == opEnd || t.op == opEndChained && !prologue {
			break
		}
	}
	if n := len(s); n > 0 && s[n-1].op == opEndChained {
		s[n-1].op = opEnd
	}
	return s
}

// readStep reads a code ("ARM64 exception handling", "Unwind codes").
func readStep(r *bin.Reader) step {
	b := r.U8()
	switch {
	case b < 0x20: // alloc_s
		return step{op: opAlloc, off: int64(b) * 16}
	case b < 0x40: // save_r19r20_x
		return step{op: opSavePush, first: firstSaved, count: 2, off: int64(b&0x1f) * 8}
	case b < 0x80: // save_fplr
		return step{op: opSave, first: numberFP, count: 2, off: int64(b&0x3f) * 8}
	case b < 0xc0: // save_fplr_x
		return step{op: opSavePush, first: numberFP, count: 2, off: int64(b&0x3f)*8 + 8}
	case b < 0xe0:
		return twoBytes(uint16(b)<<8 | uint16(r.U8()))
	}
	t := step{op: opUnsupported}
	if i := int(b) - 0xe0; i < len(single) {
		t.op = single[i]
	}
	switch b {
	case 0xe0: // alloc_l
		t.off = int64(bin.Uint(r.Bytes(3), true)) * 16
	case 0xe2: // add_fp
		t.off = int64(r.U8()) * 8
	case 0xe7:
		return anyRegister(r)
	case 0xfc:
		t.op = opSign
	}
	return t
}

// single are the codes from 0xe0 on, whose first byte says all but a number behind.
var single = [...]op{opAlloc, opSetFP, opAddFP, opNop, opEnd, opEndChained, opSaveNext, opUnsupported, opUnsupported, opMachineFrame, opContext,
	opUnsupported, opNoCall}

// wide are the codes 1100…, 1101…, each below a bound. The registers' number has four bits before the offset's six or, in the
// short ones, before its five, which count from 8.
var wide = [...]struct {
	below uint16
	op    op
	count uint8
	bias  int64
	short bool
}{
	{0xc800, opAlloc, 0, 0, false},    // alloc_m
	{0xcc00, opSave, 2, 0, false},     // save_regp
	{0xd000, opSavePush, 2, 8, false}, // save_regp_x
	{0xd400, opSave, 1, 0, false},     // save_reg
	{0xd600, opSavePush, 1, 8, true},  // save_reg_x
	{0xd800, opSaveLRPair, 0, 0, false},
	{0xda00, opSave, 2, 0, false},     // save_fregp
	{0xdc00, opSavePush, 2, 8, false}, // save_fregp_x
	{0xde00, opSave, 1, 0, false},     // save_freg
	{0xdf00, opSavePush, 1, 8, true},  // save_freg_x
}

// firstFloats is the first code that saves registers of floating point; the lowest such register is D8, with three bits.
const firstFloats, firstFloat = 0xd800, numberD + 8

// twoBytes reads a code of wide.
func twoBytes(w uint16) step {
	for _, c := range wide {
		if w >= c.below {
			continue
		}
		t := step{op: c.op, count: c.count, first: firstSaved + uint8(w>>6&15), off: int64(w&0x3f)*8 + c.bias}
		if c.short {
			t.first, t.off = firstSaved+uint8(w>>5&15), int64(w&0x1f)*8+c.bias
		}
		switch c.op {
		case opAlloc:
			t.off = int64(w&0x7ff) * 16
		case opSaveLRPair:
			t.first = firstSaved + 2*uint8(w>>6&7)
		}
		switch {
		case w >= firstFloats && c.short:
			t.first = firstFloat + uint8(w>>5&7)
		case w >= firstFloats:
			t.first = firstFloat + uint8(w>>6&7)
		}
		return t
	}
	return step{op: opUnsupported}
}

// anyRegister reads save_any_reg: 0pxrrrrr ffoooooo, of ARM64EC's entry thunks. p: a pair, x: the stack pointer moves, f: 0 for
// general registers, 1 for D, 2 for Q.
func anyRegister(r *bin.Reader) step {
	a, b := r.U8(), r.U8()
	pair, moves, kind := a>>6&1, a>>5&1 != 0, b>>6
	t := step{op: opSave, first: a&0x1f + [...]uint8{0, numberD, numberQ, 0}[kind], count: 1 + pair, off: int64(b&0x3f) * 8}
	if pair != 0 || moves || kind == 2 {
		t.off *= 2
	}
	if moves {
		t.op, t.off = opSavePush, t.off+16
	}
	if a>>7 != 0 || kind == 3 {
		return step{op: opUnsupported}
	}
	return t
}
