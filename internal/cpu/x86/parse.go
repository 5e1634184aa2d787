package x86

import (
	"encoding/binary"

	"github.com/backsight/backsight/cpu"
)

// window is how many bytes the parser may look at: the longest sequence that it
// follows before it finds that the instruction is longer than maxLen.
const (
	window = 32
	maxLen = 15 // SDM volume 2, section 2.3.11: longer ones fault
)

// opcodeMap is the table that an opcode byte belongs to.
type opcodeMap uint8

const (
	map00 opcodeMap = iota // one-byte opcodes
	map0F
	map38
	map3A
	map4 // EVEX: APX's promoted legacy instructions
	map5 // EVEX: FP16
	map6
	map7
	xop8
	xop9
	xopA
)

// encoding is what selected the opcode map.
type encoding uint8

const (
	legacy encoding = iota
	rex2
	vex
	evex
	xop
)

// inst is one instruction taken apart: what parser found, and what the types that tell effects go by.
// One inst serves for one instruction after the other.
type inst struct {
	maps          *maps        // of the mode
	regs, indexes *[32]cpu.Reg // general registers by their numbers
	mask          uint64       // of addresses
	rexBits       uint64       // of the first byte, which are 4 in a REX prefix
	relative      uint64       // mask: an address without base is relative to the end of the instruction
	long          bool         // 64-bit mode

	b  *[window]byte
	op byte
	prefixes
	rex byte // the last prefix if it is a REX, else 0
	extension

	modrm   byte
	modrmAt uint8
	immAt   uint8
}

// prefixes are those that most instructions have none of.
type prefixes struct {
	enc    encoding
	m      opcodeMap
	rep    byte // the last of F3 and F2, 0 if none
	seg    byte // 64 or 65 (fs, gs), which move an access out of the flat space
	adsize bool // 67
	v      byte // the register vvvv
	evex2  byte // EVEX's last payload byte: z, L'L, b or ND, V', aaa or NF
	vl     byte // bytes of a vector: 16, 32, 64
}

// extension is what REX and its like add.
type extension struct {
	// r, x and bx extend the numbers of reg, of the index, and of the base or rm:
	// 8 and, with APX, 16.
	r, x, bx byte
	class    byte // the operand size: size16 and sizeW
}

// parser takes instructions apart.
type parser struct{ *inst }

// parse takes apart the instruction at the start of b, which is in.b (storing it here
// would let the caller's buffer escape). It returns how the effects are told and how
// many bytes it looked at, which is the length of what is not undefined.
//
// Most instructions have no prefix but a REX, and an opcode of one byte or behind 0F:
// the first eight bytes hold all of them but immediates. What differs from one to the
// next is counted, not branched on, for the branches would often be mispredicted. Where
// the next instruction starts waits for all of this: it goes on in registers.
func (in parser) parse(b *[window]byte) (effect, uint) {
	w := binary.LittleEndian.Uint64(b[:])
	i := uint(0)
	if w&in.rexBits == 0x40 {
		i = 1
	}
	rex := byte(w) & -byte(i)
	in.rex, in.prefixes, in.extension = rex, prefixes{}, extensionOf[rex&15]
	class := rex >> 2 & sizeW
	w >>= 8 * i
	i++
	r, plan := in.maps.entries[0][byte(w)], &in.maps.plans[0][byte(w)]
	if byte(w) == 0x0f {
		in.m = map0F
		w >>= 8
		r, plan = in.maps.entries[1][byte(w)], &in.maps.plans[1][byte(w)]
		i++
	}
	if r&isEscape != 0 {
		r, i = in.escape(byte(w), i)
		class = in.class
		w = binary.LittleEndian.Uint64(b[(i-1)&maxLen:])
		plan = &in.maps.plans[in.m&1][byte(w)]
	}
	in.op, in.modrm, in.modrmAt = byte(w), byte(w>>8), uint8(i)
	operand := uint(operandSize[byte(w>>8)])
	if w&0x07_c7_00 == 0x05_04_00 { // SIB without base
		operand = 6
	}
	imm := uint(r>>(4*(class&3))) & 15
	e := plan[byte(w>>8)>>3]
	if r&isOpen != 0 {
		e, operand, imm = in.settle(r, e, operand, imm)
	}
	i += operand & uint(r/modRMOne)
	in.immAt = uint8(i)
	i += imm
	if i > maxLen {
		e = undefined
	}
	return e, i
}

// escape goes on behind the byte c, which is no opcode: it returns what the tables
// say of the opcode, and where that ends.
func (in parser) escape(c byte, i uint) (entry, uint) {
	if in.m == map0F {
		r, i := in.threeByte(c, i)
		return r | isOpen, i
	}
	for ; i <= maxLen; i++ {
		switch r := in.maps.entries[0][c]; {
		case r&isEscape == 0:
			return r | isOpen, i
		case r&isREX != 0:
			in.setREX(c)
		case in.prefix(c):
			in.setREX(0) // a REX that is not last is ignored
		default:
			r, i = in.selectMap(c, i)
			return r | isOpen, i
		}
		c = in.b[i&(window-1)]
	}
	return in.undefined(maxLen)
}

func (in parser) undefined(i uint) (entry, uint) { return newEntry(ud, in.long), i }

// setREX takes a REX prefix behind others; 0 is none.
func (in parser) setREX(c byte) {
	opsize := in.class & size16
	in.rex, in.extension = c, extensionOf[c&15]
	in.class |= opsize
}

// prefix notes the legacy prefix c and reports false if it is none.
func (in parser) prefix(c byte) bool {
	switch c {
	case 0x66:
		in.class |= size16
	case 0x67:
		in.adsize = true
	case 0xf2, 0xf3:
		in.rep = c
	case 0x64, 0x65:
		in.seg = c
	case 0xf0:
	case 0x26, 0x2e, 0x36, 0x3e:
		// The flat segments: es, cs, ss, ds. In 64-bit mode they do not even
		// undo fs and gs (SDM volume 2, section 2.1.1).
		if !in.long {
			in.seg = 0
		}
	default:
		return false
	}
	return true
}

// selectMap reads what stands behind c, the first byte of an escape or of a
// prefix that selects an opcode map, or an opcode where the mode or the second
// byte says so.
func (in parser) selectMap(c byte, i uint) (entry, uint) {
	next := in.b[i&(window-1)]
	switch c {
	case 0x0f:
		in.m = map0F
		if r := in.maps.entries[1][next]; r&isEscape == 0 {
			return r, i + 1
		}
		return in.threeByte(next, i+1)
	case 0x8f:
		if next&0x1f >= 8 {
			return in.parseXOP(i)
		}
	case 0xd5:
		return in.parseREX2(i)
	default: // c4, c5, 62: in 32-bit mode les, lds, bound with a memory operand
		if in.long || next >= 0xc0 {
			return in.parseVector(c, i)
		}
	}
	return newEntry(mrm, in.long), i
}

// threeByte goes on behind 0F 38 or 0F 3A, of which c is the second.
func (in parser) threeByte(c byte, i uint) (entry, uint) {
	a := mb
	if in.m = map3A; c == 0x38 {
		in.m, a = map38, mrm
	}
	return newEntry(a, in.long), i + 1
}

// settle returns the effect and the sizes of the operand and of the immediate, where
// prefixes decide, or more than ModRM and the operand size.
func (in parser) settle(r entry, e effect, operand, imm uint) (effect, uint, uint) {
	if in.m > map0F || in.enc >= vex {
		e = escaped
	}
	if r&isUndefined != 0 {
		e = undefined
	}
	if in.adsize && !in.long {
		operand = in.operand16()
	}
	switch r.kind() {
	case ao:
		imm = uint(in.addrSize())
	case gb, gz:
		if in.modrm>>3&7 > 1 {
			imm = 0
		}
	case xq:
		if in.opsize() || in.rep == 0xf2 {
			imm = 2
		}
	}
	return e, operand, imm
}

// operand16 is operandSize with 16-bit addresses (SDM table 2-1).
func (in parser) operand16() uint {
	switch mod, rm := in.modrm>>6, in.modrm&7; {
	case mod == 1:
		return 2
	case mod == 2, mod == 0 && rm == 6:
		return 3
	}
	return 1
}

// What tells the operand size.
const (
	size16 = 1 << iota // 66
	sizeW              // REX.W and its like, which wins
)

func (in *inst) opsize() bool { return in.class&size16 != 0 }
func (in *inst) w() bool      { return in.class&sizeW != 0 }

// size is the operand size in bytes of an operand that is not a byte.
func (in *inst) size() uint8 { return sizeOf[in.class&3] }

// word is the size of an address and of a stack slot.
func (in *inst) word() uint8 {
	if in.long {
		return 8
	}
	return 4
}

// addrSize is the address size in bytes.
func (in *inst) addrSize() uint8 {
	switch {
	case !in.adsize:
		return in.word()
	case in.long:
		return 4
	}
	return 2
}
