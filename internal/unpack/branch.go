package unpack

import "encoding/binary"

// branchFilter undoes one of xz's filters for branches, which make the targets of calls
// absolute, so that calls of one function look alike (The .xz File Format, §5.3.2); nil for
// an unknown one. Addresses count from the block's first byte.
func branchFilter(id uint64) func([]byte) {
	switch id {
	case 0x04:
		return x86Branches
	case 0x07:
		return armBranches
	case 0x08:
		return thumbBranches
	case 0x0a:
		return arm64Branches
	}
	return nil
}

// armBranches: BL, whose 24 bits count words from the instruction + 8.
func armBranches(b []byte) {
	for i := 0; i+4 <= len(b); i += 4 {
		if b[i+3] == 0xeb {
			v := binary.LittleEndian.Uint32(b[i:])
			binary.LittleEndian.PutUint32(b[i:], v&0xff00_0000|(v-uint32(i+8)>>2)&0x00ff_ffff)
		}
	}
}

// thumbBranches: BL, two halfwords of eleven bits each, from the instruction + 4.
func thumbBranches(b []byte) {
	for i := 0; i+4 <= len(b); i += 2 {
		if b[i+1]&0xf8 != 0xf0 || b[i+3]&0xf8 != 0xf8 {
			continue
		}
		hi, lo := binary.LittleEndian.Uint16(b[i:]), binary.LittleEndian.Uint16(b[i+2:])
		v := (uint32(hi)&0x7ff<<11|uint32(lo)&0x7ff)<<1 - uint32(i+4)
		binary.LittleEndian.PutUint16(b[i:], 0xf000|uint16(v>>12)&0x7ff)
		binary.LittleEndian.PutUint16(b[i+2:], 0xf800|uint16(v>>1)&0x7ff)
		i += 2
	}
}

// arm64Branches: BL, whose 26 bits count words, and ADRP, whose 21 bits count pages, where
// the target lies within 512 MiB.
func arm64Branches(b []byte) {
	for i := 0; i+4 <= len(b); i += 4 {
		v, pc := binary.LittleEndian.Uint32(b[i:]), uint32(i)
		switch {
		case v>>26 == 0x25:
			v = 0x9400_0000 | (v-pc>>2)&0x03ff_ffff
		case v&0x9f00_0000 == 0x9000_0000:
			page := v>>29&3 | v>>3&0x001f_fffc
			if (page+0x0002_0000)&0x001c_0000 != 0 {
				continue
			}
			page -= pc >> 12
			v = v&0x9000_001f | page&3<<29 | page&0x0003_fffc<<3 | -(page&0x0002_0000)&0x00e0_0000
		default:
			continue
		}
		binary.LittleEndian.PutUint32(b[i:], v)
	}
}

// x86Branches: CALL and JMP (e8, e9) with 32 bits, whose highest byte is 0 or ff. seen has
// a bit for each of the three bytes before an opcode that looked like an opcode, too: an
// operand may hold bytes e8 and e9, and the encoder left such operands alone by these rules.
func x86Branches(b []byte) {
	sign := func(c byte) bool { return c == 0 || c == 0xff }
	seen, last := uint32(0), -1
	for i := 0; i+5 <= len(b); i++ {
		if b[i]&0xfe != 0xe8 {
			continue
		}
		if gap := i - last; gap > 3 {
			seen = 0
		} else {
			seen = seen << (gap - 1) & 7
		}
		last = i
		top := [8]int{0, 1, 2, 2, 3, 3, 3, 3}[seen]
		odd := seen == 3 || seen > 4
		if seen != 0 && (odd || sign(b[i+4-top])) || !sign(b[i+4]) {
			seen = seen<<1 | 1
			continue
		}
		binary.LittleEndian.PutUint32(b[i+1:], x86Target(binary.LittleEndian.Uint32(b[i+1:]), uint32(i+5), uint(8*top), seen))
		i += 4
		seen = 0
		last = i - 4
	}
}

// x86Target makes an absolute target relative to the next instruction. Where bytes of the
// operand looked like opcodes, the encoder applied itself until the byte at the highest of
// these did not look like a sign.
func x86Target(v, next uint32, top uint, seen uint32) uint32 {
	for {
		out := v - next
		if c := byte(out >> (24 - top)); seen == 0 || c != 0 && c != 0xff {
			return out&0x01ff_ffff | -(out & 0x0100_0000)
		}
		v = out ^ (1<<(32-top) - 1)
	}
}
