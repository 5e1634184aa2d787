package x86

// parseVector reads the rest of a VEX (C4, C5) or EVEX (62) prefix at i. A REX,
// 66, F2 or F3 in front makes the instruction undefined (SDM 2.3.2, 2.7.3).
func (in parser) parseVector(first byte, i uint) (entry, uint) {
	if in.rex != 0 || in.opsize() || in.rep != 0 || in.enc != legacy {
		return in.undefined(i)
	}
	switch first {
	case 0xc4:
		return in.parseVEX3(i)
	case 0xc5:
		return in.parseVEX2(i)
	}
	return in.parseEVEX(i)
}

// parseVEX2 reads C5 | R̄ v̄v̄v̄v̄ L pp.
func (in parser) parseVEX2(i uint) (entry, uint) {
	p := in.b[i&(window-1)]
	in.enc, in.m = vex, map0F
	in.r = ^p >> 4 & 8
	in.setVector(p)
	return in.vector(i + 1)
}

// parseVEX3 reads C4 | R̄ X̄ B̄ mmmmm | W v̄v̄v̄v̄ L pp.
func (in parser) parseVEX3(i uint) (entry, uint) {
	p0, p1 := in.b[i&(window-1)], in.b[(i+1)&(window-1)]
	in.enc, in.m = vex, opcodeMap(p0&0x1f)
	in.r, in.x, in.bx = ^p0>>4&8, ^p0>>3&8, ^p0>>2&8
	in.class |= p1 >> 6 & sizeW
	in.setVector(p1)
	switch in.m {
	case map0F, map38, map3A, map5, map7:
		return in.vector(i + 2)
	}
	return in.undefined(i + 2)
}

// parseXOP reads 8F | R̄ X̄ B̄ mmmmm | W v̄v̄v̄v̄ L pp (AMD APM volume 3, 1.2.7).
func (in parser) parseXOP(i uint) (entry, uint) {
	p0, p1 := in.b[i&(window-1)], in.b[(i+1)&(window-1)]
	in.enc = xop
	in.r, in.x, in.bx = ^p0>>4&8, ^p0>>3&8, ^p0>>2&8
	in.class |= p1 >> 6 & sizeW
	in.setVector(p1)
	in.m = xop8 + opcodeMap(p0&0x1f) - 8
	if in.m > xopA {
		return in.undefined(i + 2)
	}
	return in.vector(i + 2)
}

// setVector takes v̄v̄v̄v̄, L and pp from the last byte of VEX or XOP.
func (in parser) setVector(p byte) {
	in.v = ^p >> 3 & 15
	in.vl = 16 << (p >> 2 & 1)
	in.setPP(p)
}

// setPP takes the two bits that stand for a prefix 66, F3 or F2.
func (in parser) setPP(p byte) {
	switch p & 3 {
	case 1:
		in.class |= size16
	case 2:
		in.rep = 0xf3
	case 3:
		in.rep = 0xf2
	}
}

// parseEVEX reads 62 | R̄ X̄ B̄ R̄4 B4 mmm | W v̄v̄v̄v̄ X̄4 pp | z L'L b V̄4 aaa, as APX
// extends it: before, B4 was 0 and X̄4 was 1.
func (in parser) parseEVEX(i uint) (entry, uint) {
	p0, p1, p2 := in.b[i&(window-1)], in.b[(i+1)&(window-1)], in.b[(i+2)&(window-1)]
	in.enc, in.m = evex, opcodeMap(p0&7)
	in.r = ^p0>>4&8 | ^p0&0x10
	in.x = ^p0>>3&8 | ^p1<<2&0x10
	in.bx = ^p0>>2&8 | p0<<1&0x10
	in.class |= p1 >> 6 & sizeW
	in.v = ^p1>>3&15 | ^p2<<1&0x10
	in.vl = 16 << (p2 >> 5 & 3)
	in.evex2 = p2
	in.setPP(p1)
	if in.m == map00 || !in.long && (p0&8 != 0 || p1&4 == 0 || in.m == map4) {
		return in.undefined(i + 3)
	}
	return in.vector(i + 3)
}

// vector reads the opcode at i. Operand size matters to APX's map 4 only.
func (in parser) vector(i uint) (entry, uint) {
	op := in.b[i&(window-1)]
	a := vectorAttr(in.m, op)
	if in.enc == vex && in.m == map0F && op == 0x77 {
		a = nn // vzeroupper, vzeroall
	}
	return newEntry(a, in.long), i + 1
}

// parseREX2 reads D5 | M0 R4 X4 B4 W R3 X3 B3 and the opcode, which no other
// prefix or escape may come between (APX specification, section 3.1.1).
func (in parser) parseREX2(i uint) (entry, uint) {
	p, op := in.b[i&(window-1)], in.b[(i+1)&(window-1)]
	if in.rex != 0 {
		return in.undefined(i)
	}
	in.enc, in.rex = rex2, p|0x40
	in.class |= p >> 2 & sizeW
	in.r = p<<1&8 | p>>2&0x10
	in.x = p<<2&8 | p>>1&0x10
	in.bx = p<<3&8 | p&0x10
	r := in.maps.entries[0][op]
	switch {
	case p&0x80 != 0:
		in.m = map0F
		r = in.maps.entries[1][op]
	case op == 0xa1: // jmpabs: a 64-bit target
		r = newEntry(iq, in.long)
	case op == 0x8f:
		r = newEntry(mrm, in.long)
	}
	if r&isEscape != 0 {
		return in.undefined(i + 2)
	}
	return r, i + 2
}
