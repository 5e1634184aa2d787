package seh

// The lowest two bits of a packed word: a function with a prologue and an epilogue, a part without.
const packedWhole, packedFragment = 1, 2

// unpack makes the steps of a packed word: the function's prologue and its only epilogue have the canonical form, of which the
// word has the sizes ("ARM64 exception handling", "Packed unwind data").
//
//	pacibsp                        CR 2
//	stp x19,x20,[sp,#-saved]!      RegI registers, the return address behind (CR 1)
//	stp d8,d9,[sp,#…]              RegF+1 registers, unless RegF is 0
//	stp x0,x1,[sp,#…] …            H: four pairs of arguments
//	sub sp,sp,#local; stp x29,lr,[sp]; mov x29,sp      CR 2, 3: or one stp of 512 bytes at most
func unpack(word uint32) (fr frame) {
	p := packed{
		floats: int64(word >> 13 & 7), ints: int64(word >> 16 & 15), homes: word>>20&1 != 0,
		cr: word >> 21 & 3, size: int64(word>>23) * 16,
	}
	if p.floats > 0 {
		p.floats++
	}
	fr.words = int(word >> 2 & 0x7ff)
	fr.prologue = p.steps(true)
	if word&3 == packedFragment { // the frame was made elsewhere
		fr.prologue = append(sequence{{op: opEndChained}}, fr.prologue...)
		return fr
	}
	s := p.steps(false)
	fr.epilogues = []scope{{max(0, fr.words-s.length()-1), s}}
	return fr
}

// packed is the fields of a packed word. floats and ints are numbers of registers, size is in bytes.
type packed struct {
	floats, ints, size int64
	homes              bool
	cr                 uint32
}

// steps are the unwind codes of the prologue, or those of the epilogue, which neither sets the frame pointer nor saves arguments.
func (p *packed) steps(prologue bool) (s sequence) {
	const lrSaved, signed = 1, 2
	ints := p.ints * 8
	if p.cr == lrSaved {
		ints += 8
	}
	saved := p.saved(ints)
	if p.cr >= signed {
		s = p.chained(s, p.size-saved, prologue)
	} else {
		s = allocated(s, p.size-saved)
	}
	alone := p.ints == 0 && p.floats == 0 && p.cr != lrSaved // the first pair of arguments makes the room
	switch {
	case p.homes && prologue:
		s = p.homeSteps(s, saved, alone)
	case p.homes && alone:
		s = append(s, step{op: opAlloc, off: saved})
	}
	s = p.floatSteps(s, ints, saved)
	s = p.intSteps(s, ints, saved)
	if p.cr == signed {
		s = append(s, step{op: opSign})
	}
	return append(s, step{op: opEnd})
}

// saved is the bytes of all that is saved: general registers, floating-point registers, arguments.
func (p *packed) saved(ints int64) int64 {
	n := ints + p.floats*8
	if p.homes {
		n += 64
	}
	return (n + 15) &^ 15
}

// chained is the steps of the local area with a frame record at its low end.
func (p *packed) chained(s sequence, local int64, prologue bool) sequence {
	const most = 512 // of an stp that moves the stack pointer
	if prologue {
		s = append(s, step{op: opSetFP})
	}
	if local <= most {
		return append(s, step{op: opSavePush, first: numberFP, count: 2, off: local})
	}
	return allocated(append(s, step{op: opSave, first: numberFP, count: 2}), local)
}

// allocated is the steps of a local area: one instruction moves the stack pointer by 4080 at most.
func allocated(s sequence, local int64) sequence {
	const most = 4080
	if local > most {
		s, local = append(s, step{op: opAlloc, off: local - most}), most
	}
	if local > 0 {
		s = append(s, step{op: opAlloc, off: local})
	}
	return s
}

// homeSteps are those of the arguments X0 to X7, which lie above all that is saved.
func (p *packed) homeSteps(s sequence, saved int64, alone bool) sequence {
	const size = 64
	for first := int64(6); first >= 0; first -= 2 {
		t := step{op: opSave, first: uint8(first), count: 2, off: saved - size + first*8}
		if first == 0 && alone {
			t.op, t.off = opSavePush, saved
		}
		s = append(s, t)
	}
	return s
}

// floatSteps are those of the floating-point registers from D8 on, in pairs. The first moves the stack pointer where no general register
// was saved before.
func (p *packed) floatSteps(s sequence, ints, saved int64) sequence {
	for i := (p.floats+1)/2*2 - 2; i >= 0; i -= 2 {
		t := step{op: opSave, first: firstFloat + uint8(i), count: uint8(min(2, p.floats-i)), off: ints + i*8}
		if t.off == 0 {
			t.op, t.off = opSavePush, saved
		}
		s = append(s, t)
	}
	return s
}

// intSteps are those of the general registers from X19 on, in pairs, and of the return address behind them.
func (p *packed) intSteps(s sequence, ints, saved int64) sequence {
	const lrSaved = 1
	lr, odd := p.cr == lrSaved, p.ints%2 != 0
	moves := func(t step) step { // the first store makes room for all
		if t.off == 0 {
			t.op, t.off = opSavePush, saved
		}
		return t
	}
	if lr && !odd {
		s = append(s, moves(step{op: opSave, first: numberLR, count: 1, off: ints - 8}))
	}
	if odd {
		last := step{op: opSave, first: firstSaved + uint8(p.ints-1), count: 1, off: (p.ints - 1) * 8}
		switch {
		case lr && p.ints == 1: // no stp of x19 and lr moves the stack pointer
			s = append(s, step{op: opUnsupported})
		case lr:
			last.op = opSaveLRPair
			s = append(s, last)
		default:
			s = append(s, moves(last))
		}
	}
	for i := p.ints/2*2 - 2; i >= 0; i -= 2 {
		s = append(s, moves(step{op: opSave, first: firstSaved + uint8(i), count: 2, off: i * 8}))
	}
	return s
}
