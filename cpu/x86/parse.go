package x86

import "github.com/backsight/backsight/cpu"

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

// inst is one instruction taken apart.
type inst struct {
	b    *[window]byte
	regs *[32]cpu.Reg // general registers by their numbers
	long bool         // 64-bit mode

	enc    encoding
	m      opcodeMap
	op     byte
	rex    byte // the last prefix if it is a REX, else 0
	rep    byte // the last of F3 and F2, 0 if none
	seg    byte // 64 or 65 (fs, gs), which move an access out of the flat space
	adsize bool // 67
	extension

	v     byte // the register vvvv
	evex2 byte // EVEX's last payload byte: z, L'L, b or ND, V', aaa or NF
	vl    byte // bytes of a vector: 16, 32, 64

	modrm   byte
	modrmAt uint8
	immAt   uint8
}

// extension is what REX and its like add.
type extension struct {
	// r, x and bx extend the numbers of reg, of the index, and of the base or rm:
	// 8 and, with APX, 16.
	r, x, bx byte
	class    byte // the operand size: size16 and sizeW
}

// parse takes apart the instruction at the start of in.b, the fields of extensions
// and prefixes being zero, and tells whether it is defined, as far as its length
// needs. b is in.b; storing it here would let the caller's buffer escape. Most
// instructions have no prefix but a REX, and an opcode of one byte or behind 0F.
//
// What differs from one instruction to the next is counted, not branched on:
// branches here would often be mispredicted.
func (in *inst) parse(b *[window]byte) (length uint, defined bool) {
	c, i := b[0], uint(0)
	if c>>4 == 4 {
		i = 1
	}
	if !in.long {
		i = 0
	}
	rex := c & -byte(i)
	in.rex, in.extension = rex, extensionOf[rex&15]
	class := rex >> 2 & sizeW
	c = b[i]
	i++
	a := primary[c]
	if c == 0x0f {
		in.m = map0F
		c = b[i]
		a = secondary[c]
		i++
	}
	addr16 := false
	if a&esc != 0 {
		c, a, i = in.escape(c, i)
		class, addr16 = in.class, in.adsize && !in.long
	}
	in.op = c
	modrm := b[i&(window-1)]
	in.modrm, in.modrmAt = modrm, uint8(i)
	n := uint(operandSize[modrm])
	if uint(modrm&0xc7)<<3|uint(b[(i+1)&(window-1)]&7) == 4<<3|5 { // SIB without base
		n = 6
	}
	if addr16 {
		n = 1 + in.addressing16()
	}
	i += n & -uint(a>>7)
	in.immAt = uint8(i)
	kind := a & immMask
	i += uint(immSize[kind][class&3])
	if kind > jz || class&size16 != 0 && kind == jz {
		i += in.tail(kind)
	}
	return i, i <= maxLen && (a&(ud|o32) == 0 || a&ud == 0 && !in.long)
}

// escape goes on behind the byte c, which is no opcode, or not in every mode: it
// returns the opcode, its attributes, and where that ends.
func (in *inst) escape(c byte, i uint) (byte, attr, uint) {
	if in.m == map0F {
		return in.threeByte(c, i)
	}
	for ; i <= maxLen; i++ {
		switch a := primary[c]; {
		case a&esc == 0:
			return c, a, i
		case in.long && c>>4 == 4:
			in.setREX(c)
		case c>>4 == 4: // inc, dec
			return c, nn, i
		case in.prefix(c):
			in.setREX(0) // a REX that is not last is ignored
		default:
			return in.selectMap(c, i)
		}
		c = in.b[i&(window-1)]
	}
	return 0, ud, maxLen
}

// setREX takes a REX prefix behind others; 0 is none.
func (in *inst) setREX(c byte) {
	opsize := in.class & size16
	in.rex, in.extension = c, extensionOf[c&15]
	in.class |= opsize
}

// prefix notes the legacy prefix c and reports false if it is none.
func (in *inst) prefix(c byte) bool {
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
func (in *inst) selectMap(c byte, i uint) (byte, attr, uint) {
	next := in.b[i&(window-1)]
	switch c {
	case 0x0f:
		in.m = map0F
		if a := secondary[next]; a&esc == 0 {
			return next, a, i + 1
		}
		return in.threeByte(next, i+1)
	case 0x8f:
		if next&0x1f >= 8 {
			return in.parseXOP(i)
		}
	case 0xd5:
		if in.long {
			return in.parseREX2(i)
		}
		return c, ib, i
	default: // c4, c5, 62: in 32-bit mode les, lds, bound with a memory operand
		if in.long || next >= 0xc0 {
			return in.parseVector(c, i)
		}
	}
	return c, mrm, i
}

// threeByte reads the opcode behind 0F 38 or 0F 3A.
func (in *inst) threeByte(c byte, i uint) (byte, attr, uint) {
	op := in.b[i&(window-1)]
	if c == 0x38 {
		in.m = map38
		return op, mrm, i + 1
	}
	in.m = map3A
	return op, mb, i + 1
}

// addressing16 is the same with 16-bit addresses (SDM table 2-1).
func (in *inst) addressing16() uint {
	switch mod, rm := in.modrm>>6, in.modrm&7; {
	case mod == 1:
		return 1
	case mod == 2, mod == 0 && rm == 6:
		return 2
	}
	return 0
}

// tail sizes the immediates, or what immSize leaves of them, that more than the
// operand size decides.
func (in *inst) tail(kind attr) uint {
	switch kind {
	case jz:
		// Intel ignores 66 on near branches in 64-bit mode, AMD truncates RIP to
		// 16 bits then. No program can want the latter.
		if in.long && !in.w() {
			return 2
		}
	case ao:
		return uint(in.addrSize())
	case gb:
		if in.modrm>>3&7 < 2 {
			return 1
		}
	case gz:
		if in.modrm>>3&7 < 2 {
			return uint(immSize[iz][in.class&3])
		}
	case xq:
		if in.opsize() || in.rep == 0xf2 {
			return 2
		}
	}
	return 0
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
