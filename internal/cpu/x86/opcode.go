package x86

// attr tells what follows an opcode byte: ModRM or not, and which immediate.
type attr uint8

const (
	// mrm: a ModRM byte follows, with SIB and displacement as it says.
	mrm attr = 1 << 7
	// o32: the opcode is undefined in 64-bit mode.
	o32 attr = 1 << 6
	// esc: a prefix, an escape byte, or the first byte of VEX, EVEX, XOP, REX2
	// in one of the modes.
	esc attr = 1 << 5
	// ud: an undefined opcode.
	ud attr = 1 << 4

	immMask attr = 1<<4 - 1
)

// Kinds of immediates, in the letters of the SDM's opcode maps (appendix A.2.2).
// Sizes come from immSize by operand size; from ao on the operand size does not
// say it all, and inst.settle decides.
const (
	nn attr = iota // none
	ib             // byte
	iw             // 16 bits
	iz             // 16 or 32 bits, never 64
	iv             // 16, 32 or 64 bits: mov r,imm
	id             // 32 bits
	wb             // enter: 16 bits and 8 bits
	fp             // far pointer: 32 or 48 bits
	iq             // 64 bits: jmpabs
	jz             // relative branch: like iz, but 32 bits in 64-bit mode
	ao             // absolute offset of the address size: mov moffs
	gb             // group 3, byte: ib where reg is 0 or 1 (test)
	gz             // group 3: iz where reg is 0 or 1
	xq             // SSE4a extrq, insertq: two bytes after prefix 66 or F2

	pm = esc
	mb = mrm | ib
	mz = mrm | iz
	mg = mrm | gb
	mG = mrm | gz
	mx = mrm | xq
	oo = o32
	ob = o32 | ib
	oM = o32 | mrm | ib
	of = o32 | fp
	mm = mrm
)

// sizeOf is the operand size in bytes by size16 and sizeW.
var sizeOf = [4]uint8{4, 2, 8, 8}

// immSize counts the bytes of a kind of immediate, in four bits for each operand size
// of sizeOf, the first in the lowest.
var immSize = [immMask + 1]entry{
	ib: 0x1111,
	iw: 0x2222,
	iz: 0x4424,
	iv: 0x8824,
	id: 0x4444,
	wb: 0x3333,
	fp: 0x6646,
	iq: 0x8888,
	jz: 0x4424,
	gb: 0x1111,
	gz: 0x4424,
}

// primary is the one-byte opcode map (SDM table A-2).
var primary = [256]attr{
	0x00: mm, mm, mm, mm, ib, iz, oo, oo, mm, mm, mm, mm, ib, iz, oo, pm,
	0x10: mm, mm, mm, mm, ib, iz, oo, oo, mm, mm, mm, mm, ib, iz, oo, oo,
	0x20: mm, mm, mm, mm, ib, iz, pm, oo, mm, mm, mm, mm, ib, iz, pm, oo,
	0x30: mm, mm, mm, mm, ib, iz, pm, oo, mm, mm, mm, mm, ib, iz, pm, oo,
	0x40: pm, pm, pm, pm, pm, pm, pm, pm, pm, pm, pm, pm, pm, pm, pm, pm,
	0x50: nn, nn, nn, nn, nn, nn, nn, nn, nn, nn, nn, nn, nn, nn, nn, nn,
	0x60: oo, oo, pm, mm, pm, pm, pm, pm, iz, mz, ib, mb, nn, nn, nn, nn,
	0x70: ib, ib, ib, ib, ib, ib, ib, ib, ib, ib, ib, ib, ib, ib, ib, ib,
	0x80: mb, mz, oM, mb, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, pm,
	0x90: nn, nn, nn, nn, nn, nn, nn, nn, nn, nn, of, nn, nn, nn, nn, nn,
	0xa0: ao, ao, ao, ao, nn, nn, nn, nn, ib, iz, nn, nn, nn, nn, nn, nn,
	0xb0: ib, ib, ib, ib, ib, ib, ib, ib, iv, iv, iv, iv, iv, iv, iv, iv,
	0xc0: mb, mb, iw, nn, pm, pm, mb, mz, wb, nn, iw, nn, nn, ib, oo, nn,
	0xd0: mm, mm, mm, mm, ob, pm, oo, nn, mm, mm, mm, mm, mm, mm, mm, mm,
	0xe0: ib, ib, ib, ib, ib, ib, ib, ib, jz, jz, of, ib, nn, nn, nn, nn,
	0xf0: pm, nn, pm, pm, nn, nn, mg, mG, nn, nn, nn, nn, nn, nn, mm, mm,
}

// secondary is the two-byte map behind 0F (SDM table A-3; 0E and 0F are AMD's
// 3DNow!, 24 and 26 the 80386's test registers). Moves with control registers
// have a ModRM byte that never has a tail, like an immediate.
var secondary = [256]attr{
	0x00: mm, mm, mm, mm, ud, nn, nn, nn, nn, nn, ud, nn, ud, mm, nn, mb,
	0x10: mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm,
	0x20: ib, ib, ib, ib, ib, ud, ib, ud, mm, mm, mm, mm, mm, mm, mm, mm,
	0x30: nn, nn, nn, nn, nn, nn, ud, nn, pm, ud, pm, ud, ud, ud, ud, ud,
	0x40: mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm,
	0x50: mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm,
	0x60: mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm,
	0x70: mb, mb, mb, mb, mm, mm, mm, nn, mx, mm, ud, ud, mm, mm, mm, mm,
	0x80: jz, jz, jz, jz, jz, jz, jz, jz, jz, jz, jz, jz, jz, jz, jz, jz,
	0x90: mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm,
	0xa0: nn, nn, nn, mm, mb, mm, mm, mm, nn, nn, nn, mm, mb, mm, mm, mm,
	0xb0: mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mb, mm, mm, mm, mm, mm,
	0xc0: mm, mm, mb, mm, mb, mb, mb, mm, nn, nn, nn, nn, nn, nn, nn, nn,
	0xd0: mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm,
	0xe0: mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm,
	0xf0: mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm, mm,
}

// vectorAttr gives the attributes of a VEX, XOP or EVEX opcode: all but
// vzeroupper have a ModRM byte, and the map nearly tells the immediate.
func vectorAttr(m opcodeMap, op byte) attr {
	switch m {
	case map0F:
		switch op {
		case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
			return mb
		}
	case map3A, xop8:
		return mb
	case map4:
		return promotedAttr(op)
	case map7, xopA:
		return mrm | id
	}
	return mrm
}

// promotedAttr gives the attributes in EVEX map 4, which holds the legacy
// instructions that APX extends (APX specification, table 3.9).
func promotedAttr(op byte) attr {
	switch op {
	case 0x80, 0x83, 0x6b, 0xc0, 0xc1, 0x24, 0x2c, 0xd4:
		return mb
	case 0x81, 0x69:
		return mz
	case 0xf6:
		return mg
	case 0xf7:
		return mG
	}
	return mm
}

// entry is what the tables say of an opcode in one of the modes: immSize's digits, the
// bits below, and the kind of the immediate.
type entry uint32

const (
	isEscape entry = 1 << (16 + iota)
	isREX
	isOpen // inst.settle has to look
	isUndefined
	kindOne                 // the lowest bit of the kind
	modRMOne = kindOne << 4 // the lowest of three bits, all set where a ModRM byte follows
	hasModRM = 7 * modRMOne
)

func newEntry(a attr, long bool) entry {
	kind := a & immMask
	r := immSize[kind] | entry(kind)*kindOne
	if kind == jz && long {
		// Intel ignores 66 on near branches in 64-bit mode, AMD truncates RIP to 16
		// bits then. No program can want the latter.
		r = immSize[id]
	}
	if a&mrm != 0 {
		r |= hasModRM
	}
	if kind >= ao {
		r |= isOpen
	}
	if a&esc != 0 {
		r |= isEscape
	}
	if a&ud != 0 || a&o32 != 0 && long {
		r |= isOpen | isUndefined
	}
	return r
}

func (r entry) kind() attr { return attr(r/kindOne) & immMask }

// maps are what is looked up of the opcodes of the one-byte and the two-byte map.
type maps struct {
	entries [2][256]entry
	plans   [2][256]plan // the same in both modes: an opcode that is a prefix or undefined in a mode is not looked up there
}

func newMaps(long bool) *maps {
	return &maps{newEntries(long), [2][256]plan{oneBytePlans(), twoBytePlans()}}
}

func newEntries(long bool) (entries [2][256]entry) {
	for c := range 256 {
		a := primary[c]
		switch {
		case c>>4 == 4 && !long: // inc, dec
			a = nn
		case c == 0xd5 && !long: // aad
			a = ib
		}
		entries[0][c] = newEntry(a, long)
		if c>>4 == 4 && long {
			entries[0][c] |= isREX
		}
		entries[1][c] = newEntry(secondary[c], long)
	}
	return entries
}

// operandSize[ModRM] counts the bytes of ModRM, SIB and displacement with 32- or
// 64-bit addresses, but for the displacement of a SIB without base.
var operandSize = [256]uint8{
	0x00: 1, 1, 1, 1, 2, 5, 1, 1, 1, 1, 1, 1, 2, 5, 1, 1,
	0x10: 1, 1, 1, 1, 2, 5, 1, 1, 1, 1, 1, 1, 2, 5, 1, 1,
	0x20: 1, 1, 1, 1, 2, 5, 1, 1, 1, 1, 1, 1, 2, 5, 1, 1,
	0x30: 1, 1, 1, 1, 2, 5, 1, 1, 1, 1, 1, 1, 2, 5, 1, 1,
	0x40: 2, 2, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 3, 2, 2, 2,
	0x50: 2, 2, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 3, 2, 2, 2,
	0x60: 2, 2, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 3, 2, 2, 2,
	0x70: 2, 2, 2, 2, 3, 2, 2, 2, 2, 2, 2, 2, 3, 2, 2, 2,
	0x80: 5, 5, 5, 5, 6, 5, 5, 5, 5, 5, 5, 5, 6, 5, 5, 5,
	0x90: 5, 5, 5, 5, 6, 5, 5, 5, 5, 5, 5, 5, 6, 5, 5, 5,
	0xa0: 5, 5, 5, 5, 6, 5, 5, 5, 5, 5, 5, 5, 6, 5, 5, 5,
	0xb0: 5, 5, 5, 5, 6, 5, 5, 5, 5, 5, 5, 5, 6, 5, 5, 5,
	0xc0: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	0xd0: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	0xe0: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
	0xf0: 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
}

// extensionOf the low half of a REX prefix, W R X B.
var extensionOf = [16]extension{
	0x1: {bx: 8}, 0x2: {x: 8}, 0x3: {x: 8, bx: 8},
	0x4: {r: 8}, 0x5: {r: 8, bx: 8}, 0x6: {r: 8, x: 8}, 0x7: {r: 8, x: 8, bx: 8},
	0x8: {class: sizeW}, 0x9: {bx: 8, class: sizeW},
	0xa: {x: 8, class: sizeW}, 0xb: {x: 8, bx: 8, class: sizeW},
	0xc: {r: 8, class: sizeW}, 0xd: {r: 8, bx: 8, class: sizeW},
	0xe: {r: 8, x: 8, class: sizeW}, 0xf: {r: 8, x: 8, bx: 8, class: sizeW},
}
