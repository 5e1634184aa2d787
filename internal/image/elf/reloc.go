package elf

import "encoding/binary"

// relocation is an entry of a relocation section: S is symbol, A addend, P place.
type relocation struct {
	typ    uint32
	off    uint64 // in the section
	place  uint64
	symbol uint64
	addend int64
}

// patcher applies the relocations of one section of them to the bytes of another section.
type patcher struct {
	order   binary.ByteOrder
	machine uint16
	data    []byte
	// implicit: addends stand in data (SHT_REL).
	implicit bool
	// high are the MIPS HI16 whose lower half is still to come (MIPS supplement, ch. 4).
	high []relocation
}

// maxHigh bounds the HI16 that wait for a LO16.
const maxHigh = 64

// apply applies one relocation. Relocations of unknown types leave the bytes as they are: such
// types concern data that no backtrace needs.
func (p *patcher) apply(e relocation) {
	least := uint64(4)
	if p.machine == emAArch64 {
		least = 2 // ABS16, PREL16
	}
	if e.off > uint64(len(p.data)) || uint64(len(p.data))-e.off < least {
		return
	}
	switch p.machine {
	case emX86_64:
		p.word(e, wordX8664(e.typ))
	case em386:
		p.word(e, word386(e.typ))
	case emAArch64:
		p.aarch64(e)
	case emARM:
		p.arm(e)
	case emMIPS:
		p.mips(e)
	case emRISCV:
		p.riscv(e)
	}
}

// word is a relocation of size bytes as a whole: S + A, relative to P or not. One of size 0
// changes nothing.
type word struct {
	size     int
	relative bool
}

// wordX8664 is what a type fills in (System V ABI, AMD64 supplement, table "Relocation Types").
func wordX8664(typ uint32) word {
	switch typ {
	case 1: // 64
		return word{8, false}
	case 2, 4: // PC32, PLT32
		return word{4, true}
	case 10, 11: // 32, 32S
		return word{4, false}
	case 24: // PC64
		return word{8, true}
	}
	return word{}
}

// word386 is what a type fills in (System V ABI, Intel386 supplement, table "Relocation Types").
func word386(typ uint32) word {
	switch typ {
	case 1: // 32
		return word{4, false}
	case 2, 4: // PC32, PLT32
		return word{4, true}
	}
	return word{}
}

func (p *patcher) word(e relocation, w word) {
	b := p.data[e.off:]
	if len(b) < w.size {
		return
	}
	v := e.symbol + uint64(e.addend)
	if w.relative {
		v -= e.place
	}
	switch w.size {
	case 8:
		p.order.PutUint64(b, v)
	case 4:
		if p.implicit {
			v += uint64(p.order.Uint32(b))
		}
		p.order.PutUint32(b, uint32(v))
	case 2:
		p.order.PutUint16(b, uint16(v))
	}
}

// insn changes bits of the instruction word at a relocation.
func (p *patcher) insn(e relocation, mask, bits uint32) {
	if b := p.data[e.off:]; len(b) >= 4 {
		p.order.PutUint32(b, p.order.Uint32(b)&^mask|bits&mask)
	}
}

// aarch64: ELF for the Arm 64-bit Architecture, "Relocation types". Instructions are
// little-endian always.
func (p *patcher) aarch64(e relocation) {
	v := e.symbol + uint64(e.addend)
	d := v - e.place
	instructions := *p
	instructions.order = binary.LittleEndian
	switch e.typ {
	case 257, 260: // ABS64, PREL64
		p.word(e, word{8, e.typ == 260})
	case 258, 261: // ABS32, PREL32
		p.word(e, word{4, e.typ == 261})
	case 259, 262: // ABS16, PREL16
		p.word(e, word{2, e.typ == 262})
	case 282, 283: // JUMP26, CALL26
		instructions.insn(e, 0x03ff_ffff, uint32(d>>2))
	case 280: // CONDBR19
		instructions.insn(e, 0x00ff_ffe0, uint32(d>>2)<<5)
	case 279: // TSTBR14
		instructions.insn(e, 0x0007_ffe0, uint32(d>>2)<<5)
	case 275, 276: // ADR_PREL_PG_HI21
		pages := (v&^0xfff - e.place&^0xfff) >> 12
		instructions.adr(e, uint32(pages))
	case 274: // ADR_PREL_LO21
		instructions.adr(e, uint32(d))
	case 277, 278: // ADD_ABS_LO12_NC, LDST8
		instructions.low12(e, v, 0)
	case 284, 285, 286: // LDST16 to LDST64
		instructions.low12(e, v, uint(e.typ-283))
	case 299: // LDST128
		instructions.low12(e, v, 4)
	}
}

// adr stores the immediate of ADR and ADRP: bits 1:0 stand above bits 20:2.
func (p *patcher) adr(e relocation, imm uint32) {
	p.insn(e, 0x60ff_ffe0, imm&3<<29|imm>>2&0x7_ffff<<5)
}

// low12 stores the offset of an address in its page, in units of 1<<scale bytes.
func (p *patcher) low12(e relocation, addr uint64, scale uint) {
	p.insn(e, 0x003f_fc00, uint32(addr&0xfff>>scale)<<10)
}

// arm: ELF for the Arm Architecture, "Relocation". Addends stand in the section.
func (p *patcher) arm(e relocation) {
	old := p.order.Uint32(p.data[e.off:])
	switch e.typ {
	case 2, 38: // ABS32, TARGET1
		p.word(e, word{4, false})
	case 3: // REL32
		p.word(e, word{4, true})
	case 42: // PREL31
		d := e.symbol + uint64(int64(int32(old<<1)>>1)) - e.place
		p.insn(e, 0x7fff_ffff, uint32(d))
	case 1, 28, 29: // PC24, CALL, JUMP24
		d := e.symbol + uint64(int64(int32(old<<8)>>6)) - e.place
		p.insn(e, 0x00ff_ffff, uint32(d>>2))
	case 43, 44: // MOVW_ABS_NC, MOVT_ABS
		v := uint32(e.symbol) + uint32(int32(int16(old>>4&0xf000|old&0xfff)))
		if e.typ == 44 {
			v = uint32(e.symbol) >> 16 // the addend of a symbol's upper half is 0 in modules
		}
		p.insn(e, 0x000f_0fff, v<<4&0xf_0000|v&0xfff)
	case 10, 30: // THM_CALL, THM_JUMP24
		p.thumbCall(e)
	}
}

// thumbCall is BL and B.W: S:I1:I2:imm10:imm11 (DDI 0406, A8.8.25).
func (p *patcher) thumbCall(e relocation) {
	hi, lo := uint32(p.order.Uint16(p.data[e.off:])), uint32(p.order.Uint16(p.data[e.off+2:]))
	s := hi >> 10 & 1
	i1, i2 := ^(lo>>13^s)&1, ^(lo>>11^s)&1
	addend := int32((s<<24|i1<<23|i2<<22|hi&0x3ff<<12|lo&0x7ff<<1)<<7) >> 7
	d := uint32(e.symbol) + uint32(addend) - uint32(e.place)
	s = d >> 24 & 1
	j1, j2 := ^(d>>23^s)&1, ^(d>>22^s)&1
	p.order.PutUint16(p.data[e.off:], uint16(hi&^0x7ff|s<<10|d>>12&0x3ff))
	p.order.PutUint16(p.data[e.off+2:], uint16(lo&^0x2fff|j1<<13|j2<<11|d>>1&0x7ff))
}

// mips: System V ABI, MIPS supplement, chapter 4. An addend in the section of a HI16 is
// completed by that of the next LO16.
func (p *patcher) mips(e relocation) {
	old := p.order.Uint32(p.data[e.off:])
	v := e.symbol + uint64(e.addend)
	switch e.typ {
	case 2: // 32
		p.word(e, word{4, false})
	case 18: // 64
		p.word(e, word{8, false})
	case 248: // PC32
		p.word(e, word{4, true})
	case 4: // 26
		if p.implicit {
			v += uint64(old & 0x03ff_ffff << 2)
		}
		p.insn(e, 0x03ff_ffff, uint32(v>>2))
	case 5: // HI16
		if !p.implicit {
			p.insn(e, 0xffff, uint32((v+0x8000)>>16))
		} else if len(p.high) < maxHigh {
			p.high = append(p.high, e)
		}
	case 6: // LO16
		low := int32(int16(old))
		if !p.implicit {
			low = 0
		}
		for _, h := range p.high {
			full := p.order.Uint32(p.data[h.off:])<<16 + uint32(low) + uint32(h.symbol)
			p.insn(h, 0xffff, (full+0x8000)>>16)
		}
		p.high = p.high[:0]
		p.insn(e, 0xffff, uint32(v)+uint32(low))
	case 28: // HIGHER
		p.insn(e, 0xffff, uint32((v+0x8000_8000)>>32))
	case 29: // HIGHEST
		p.insn(e, 0xffff, uint32((v+0x8000_8000_8000)>>48))
	}
}

// riscv: RISC-V ELF psABI, "Relocations". Code is linked position-independently, in pairs
// (auipc and its user), so that calls are what matters.
func (p *patcher) riscv(e relocation) {
	v := e.symbol + uint64(e.addend)
	d := uint32(v - e.place)
	switch e.typ {
	case 1: // 32
		p.word(e, word{4, false})
	case 2: // 64
		p.word(e, word{8, false})
	case 57: // 32_PCREL
		p.word(e, word{4, true})
	case 17: // JAL
		p.insn(e, 0xffff_f000, d&0x10_0000<<11|d&0x7fe<<20|d&0x800<<9|d&0xf_f000)
	case 16: // BRANCH
		p.insn(e, 0xfe00_0f80, d&0x1000<<19|d&0x7e0<<20|d&0x1e<<7|d&0x800>>4)
	case 18, 19: // CALL, CALL_PLT: auipc, jalr
		p.insn(e, 0xffff_f000, d+0x800)
		if next := (relocation{off: e.off + 4}); next.off+4 <= uint64(len(p.data)) {
			p.insn(next, 0xfff0_0000, d<<20)
		}
	case 35, 36, 39, 40: // ADD32, ADD64, SUB32, SUB64: differences of labels, in debug information
		p.difference(e, v)
	}
}

func (p *patcher) difference(e relocation, v uint64) {
	if e.typ >= 39 {
		v = -v
	}
	if b := p.data[e.off:]; e.typ%2 == 0 && len(b) >= 8 {
		p.order.PutUint64(b, p.order.Uint64(b)+v)
	} else if e.typ%2 == 1 {
		p.order.PutUint32(b, p.order.Uint32(b)+uint32(v))
	}
}
