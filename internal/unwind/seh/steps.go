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
	switch b {
	case 0xe0: // alloc_l
		n := r.Bytes(3)
		return step{op: opAlloc, off: int64(bin.Uint(n, true)) * 16}
	case 0xe1:
		return step{op: opSetFP}
	case 0xe2:
		return step{op: opAddFP, off: int64(r.U8()) * 8}
	case 0xe3:
		return step{op: opNop}
	case 0xe4:
		return step{op: opEnd}
	case 0xe5:
		return step{op: opEndChained}
	case 0xe6:
		return step{op: opSaveNext}
	case 0xe7:
		return anyRegister(r)
	case 0xe9:
		return step{op: opMachineFrame}
	case 0xea:
		return step{op: opContext}
	case 0xec:
		return step{op: opNoCall}
	case 0xfc:
		return step{op: opSign}
	}
	return step{op: opUnsupported}
}

// twoBytes reads the codes 1100…, 1101….
func twoBytes(w uint16) step {
	off, reg := int64(w&0x3f)*8, uint8(w>>6&15)
	short := int64(w&0x1f)*8 + 8 // of the codes with three bits or four of a register and five of an offset
	switch {
	case w < 0xc800: // alloc_m
		return step{op: opAlloc, off: int64(w&0x7ff) * 16}
	case w < 0xcc00: // save_regp
		return step{op: opSave, first: firstSaved + reg, count: 2, off: off}
	case w < 0xd000: // save_regp_x
		return step{op: opSavePush, first: firstSaved + reg, count: 2, off: off + 8}
	case w < 0xd400: // save_reg
		return step{op: opSave, first: firstSaved + reg, count: 1, off: off}
	case w < 0xd600: // save_reg_x
		return step{op: opSavePush, first: firstSaved + uint8(w>>5&15), count: 1, off: short}
	case w < 0xd800: // save_lrpair
		return step{op: opSaveLRPair, first: firstSaved + 2*uint8(w>>6&7), off: off}
	case w < 0xda00: // save_fregp
		return step{op: opNop}
	case w < 0xdc00: // save_fregp_x
		return step{op: opMoveSP, off: off + 8}
	case w < 0xde00: // save_freg
		return step{op: opNop}
	case w < 0xdf00: // save_freg_x
		return step{op: opMoveSP, off: short}
	}
	return step{op: opUnsupported}
}

// anyRegister reads save_any_reg: 0pxrrrrr ffoooooo, of ARM64EC's entry thunks. p: a pair, x: the stack pointer moves, f: 0 for
// general registers.
func anyRegister(r *bin.Reader) step {
	a, b := r.U8(), r.U8()
	pair, moves := a>>6&1, a>>5&1 != 0
	t := step{op: opSave, first: a & 0x1f, count: 1 + pair, off: int64(b&0x3f) * 8}
	if pair != 0 || moves {
		t.off *= 2
	}
	if moves {
		t.op, t.off = opSavePush, t.off+16
	}
	switch {
	case a>>7 != 0:
		return step{op: opUnsupported}
	case b>>6 != 0 && moves:
		t.op = opMoveSP
	case b>>6 != 0:
		t.op = opNop
	}
	return t
}
