package x86

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

// inst is one instruction taken apart. Extension bits of register numbers are
// kept as numbers to add: 8 and, with APX, 16.
type inst struct {
	b    *[window]byte
	long bool // 64-bit mode

	enc    encoding
	m      opcodeMap
	op     byte
	rex    byte // the last prefix if it is a REX, else 0
	rep    byte // the last of F3 and F2, 0 if none
	seg    byte // 64 or 65 (fs, gs), which move an access out of the flat space
	opsize bool // 66
	adsize bool // 67
	w      bool // REX.W and its like

	r, x, bx, v byte // extensions of reg, index, and base or rm; the register vvvv
	evex2       byte // EVEX's last payload byte: z, L'L, b or ND, V', aaa or NF
	vl          byte // bytes of a vector: 16, 32, 64

	modrm   byte
	modrmAt uint8
	immAt   uint8
	n       uint8 // length, or how many bytes were looked at where undefined
}

// parse takes apart the instruction at the start of in.b, all other fields but
// long being zero, and tells whether it is defined, as far as its length needs.
// (It must not store b itself: the caller's buffer would escape.)
func (in *inst) parse() bool {
	b := in.b
	for i := uint(0); i < maxLen; i++ {
		c := b[i]
		a := primary[c]
		if a&esc == 0 {
			return in.finish(c, a, i+1)
		}
		if in.long && c>>4 == 4 {
			in.setREX(c)
			continue
		}
		switch c {
		case 0x66:
			in.opsize = true
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
		case 0x0f:
			return in.escape(i + 1)
		case 0x8f:
			if b[i+1]&0x1f >= 8 {
				return in.parseXOP(i + 1)
			}
			return in.finish(c, mrm, i+1)
		case 0xc4, 0xc5, 0x62:
			if in.long || b[i+1] >= 0xc0 { // else les, lds, bound with a memory operand
				return in.parseVector(c, i+1)
			}
			return in.finish(c, mrm, i+1)
		case 0xd5:
			if in.long {
				return in.parseREX2(i + 1)
			}
			return in.finish(c, ib, i+1)
		default: // 40 to 4f: inc, dec
			return in.finish(c, nn, i+1)
		}
		if in.rex != 0 {
			in.setREX(0) // a REX that is not last is ignored
		}
	}
	in.n = maxLen
	return false
}

func (in *inst) setREX(c byte) {
	in.rex = c
	in.w = c&8 != 0
	in.r, in.x, in.bx = c<<1&8, c<<2&8, c<<3&8
}

// escape reads the opcode behind 0F at i.
func (in *inst) escape(i uint) bool {
	c := in.b[i&(window-1)]
	switch c {
	case 0x38:
		in.m = map38
		return in.finish(in.b[(i+1)&(window-1)], mrm, i+2)
	case 0x3a:
		in.m = map3A
		return in.finish(in.b[(i+1)&(window-1)], mb, i+2)
	}
	in.m = map0F
	return in.finish(c, secondary[c], i+1)
}

// finish sets the opcode and finds what follows it at i.
func (in *inst) finish(op byte, a attr, i uint) bool {
	in.op = op
	// What differs from one instruction to the next is counted, not branched on:
	// branches here would often be mispredicted.
	in.modrmAt = uint8(i)
	modrm := in.b[i&(window-1)]
	in.modrm = modrm
	n := 1 + uint(tailSize[modrm>>3&0x18|modrm&7])
	switch {
	case in.adsize && !in.long:
		n = 1 + in.addressing16()
	case modrm&0xc7 == 4 && in.b[(i+1)&(window-1)]&7 == 5: // SIB without base
		n += 4
	}
	i += n & -uint(a>>7)
	in.immAt = uint8(i)
	kind := a & immMask
	if kind <= fp {
		i += uint(immSize[kind][in.sizeClass()])
	}
	if kind > fp || kind == jz && in.opsize {
		i += in.tail(kind)
	}
	in.n = uint8(i)
	return i <= maxLen && kind != ud && (a&o32 == 0 || !in.long)
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
	class := in.sizeClass()
	switch kind {
	case jz:
		// Intel ignores 66 on near branches in 64-bit mode, AMD truncates RIP to
		// 16 bits then. No program can want the latter.
		if in.long && !in.w {
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
			return uint(immSize[iz][class])
		}
	case xq:
		if in.opsize || in.rep == 0xf2 {
			return 2
		}
	}
	return 0
}

// sizeClass is the operand size as an index: 0, 1, 2 for 16, 32, 64 bits.
func (in *inst) sizeClass() uint {
	class := uint(1)
	if in.opsize {
		class = 0
	}
	if in.w {
		class = 2
	}
	return class
}

// size is the operand size in bytes of an operand that is not a byte.
func (in *inst) size() uint8 { return 2 << in.sizeClass() }

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
