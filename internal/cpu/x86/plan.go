package x86

// effect is the way in which inst.tell tells the effects of an instruction. The forms of an
// instruction with a memory and a register operand have an effect each, so that tell needs no second
// branch for them.
type effect uint8

const (
	undefined effect = iota
	rare             // the one-byte map by rows
	rare2            // the two-byte map by rows
	escaped          // the other maps

	nothing
	padding
	clobberReg
	clobberRM

	call
	jump
	jump8
	branch
	branch8

	store
	storeOther // not a register
	storeByte
	load
	loadIf
	loadZ8
	loadZ16
	loadS8
	loadS16

	ret
	leave
	push
	pushOther // not a register
	pop
	moveToRM
	moveToReg
	moveIf
	zeroExtend
	constToReg
	constToRM
	arithmeticRM
	arithmeticReg
	arithmeticAcc
	group1
	group11
	step // inc and dec of the 32-bit mode
	lea
	clobberRM8
	hint
)

// plan has the effects of an opcode by ModRM's mod and reg: by operands in memory and
// in registers, and by the instruction of a group.
type plan [32]effect

// same is the plan of an opcode with one effect for all operands.
func same(e effect) plan { return forms(e, e) }

// forms is the plan of an opcode with a memory and a register operand.
func forms(mem, reg effect) plan { return groups(all(mem), all(reg)) }

// groups is the plan of a group of instructions, which ModRM's reg tells apart.
func groups(mem, reg [8]effect) (p plan) {
	for i := range 24 {
		p[i] = mem[i&7]
	}
	copy(p[24:], reg[:])
	return p
}

// all is one effect for all instructions of a group but the members in but, which have their own.
func all(e effect, but ...groupMember) (g [8]effect) {
	for i := range g {
		g[i] = e
	}
	for _, b := range but {
		g[b.number] = b.effect
	}
	return g
}

type groupMember struct {
	number int
	effect effect
}

func oneBytePlans() (t [256]plan) {
	fill(t[:], same(rare))
	for op := 0; op < 0x38; op += 8 {
		t[op], t[op+1] = forms(storeByte, arithmeticRM), forms(storeOther, arithmeticRM)
		t[op+2], t[op+3] = same(arithmeticReg), forms(clobberReg, arithmeticReg)
		fill(t[op+4:op+6], same(arithmeticAcc))
	}
	t[0x03] = same(arithmeticReg)     // add, of an element of an array too
	fill(t[0x38:0x3c], same(nothing)) // cmp
	fill(t[0x3c:0x3e], same(arithmeticAcc))
	fill(t[0x40:0x50], same(step))
	fill(t[0x50:0x58], same(push))
	fill(t[0x58:0x60], same(pop))
	t[0x68], t[0x6a] = same(pushOther), same(pushOther)
	t[0x69], t[0x6b] = same(clobberReg), same(clobberReg) // imul
	fill(t[0x70:0x80], same(branch8))
	t[0x80] = groups(all(storeByte, groupMember{aluCMP, nothing}), all(group1))
	t[0x81] = groups(all(storeOther, groupMember{aluCMP, nothing}),
		all(group1, groupMember{aluADC, clobberRM}, groupMember{aluSBB, clobberRM}, groupMember{aluXOR, clobberRM}))
	t[0x82], t[0x83] = t[0x80], t[0x81]
	fill(t[0x84:0x86], same(nothing)) // test
	t[0x88], t[0x89] = forms(storeByte, clobberRM8), forms(store, moveToRM)
	t[0x8b], t[0x8d] = forms(load, moveToReg), same(lea)
	fill(t[0xa8:0xaa], same(nothing)) // test
	fill(t[0xb8:0xc0], same(constToReg))
	t[0xc1] = groups(all(storeOther), all(clobberRM, groupMember{4, rare}, groupMember{5, rare}, groupMember{6, rare})) // shl and shr are rare
	t[0xd1], t[0xd3] = t[0xc1], forms(storeOther, clobberRM)
	t[0xc3], t[0xc9] = same(ret), same(leave)
	t[0xc6] = groups(all(group11, groupMember{0, storeByte}), all(group11, groupMember{0, clobberRM8}))
	t[0xc7] = groups(all(group11, groupMember{0, storeOther}), all(group11, groupMember{0, constToRM}))
	t[0xe8], t[0xe9], t[0xeb] = same(call), same(jump), same(jump8)
	test := []groupMember{{0, nothing}, {1, nothing}}
	t[0xf7] = groups(all(rare, append(test, groupMember{2, storeOther}, groupMember{3, storeOther})...),
		all(rare, append(test, groupMember{2, clobberRM}, groupMember{3, clobberRM})...))
	t[0xff] = groups(all(rare, groupMember{0, storeOther}, groupMember{1, storeOther}, groupMember{6, pushOther}), all(rare))
	return t
}

func twoBytePlans() (t [256]plan) {
	fill(t[:], same(rare2))
	for _, vectors := range [][2]int{
		{0x10, 0x11}, {0x12, 0x13}, {0x14, 0x17}, {0x18, 0x1a}, {0x1c, 0x1e}, {0x28, 0x29}, {0x2a, 0x2b}, {0x2e, 0x30},
		{0x51, 0x78}, {0x7a, 0x7e}, {0xc2, 0xc3}, {0xc6, 0xc7}, {0xd0, 0xd6}, {0xd8, 0xe7}, {0xe8, 0xff},
	} {
		fill(t[vectors[0]:vectors[1]], same(nothing))
	}
	t[0x1e], t[0x1f] = same(hint), same(padding)
	fill(t[0x40:0x50], forms(loadIf, moveIf))
	fill(t[0x80:0x90], same(branch))
	fill(t[0x90:0xa0], forms(storeByte, clobberRM8))
	for _, op := range []byte{0xaf, 0xb8, 0xbc, 0xbd} { // imul, popcnt, bsf, bsr
		t[op] = same(clobberReg)
	}
	t[0xb6], t[0xb7] = forms(loadZ8, zeroExtend), forms(loadZ16, zeroExtend)
	t[0xbe], t[0xbf] = forms(loadS8, clobberReg), forms(loadS16, clobberReg)
	return t
}

func fill(plans []plan, p plan) {
	for i := range plans {
		plans[i] = p
	}
}
