package seh

import (
	"encoding/binary"

	"github.com/backsight/backsight/internal/pdata"
)

// maxEpilogue bounds the instructions of an epilogue: one that moves the stack pointer, eight pops, a return.
const maxEpilogue = 16

// epilogue does what is left of an epilogue of x64, if the place is in one (Microsoft, "x64 prolog and epilog"): the codes of a
// function hold in its body, and an epilogue has this form and no other.
//
//	add rsp,imm or lea rsp,[frame+imm]     none or one
//	pop reg …                              none or more
//	ret, or jmp to another function
func (u *undoing) epilogue(f *pdata.Function) bool {
	state := *u
	b, pc := u.q.Image.Segments.Code(u.q.PC), u.q.PC
	n := u.moveSP(b)
	for range maxEpilogue {
		b, pc = b[n:], pc+uint64(n)
		if u.leaves(f, b, pc) {
			u.returned()
			return true
		}
		reg, size := popped(b)
		if size == 0 {
			break
		}
		u.restore(u.x64Register(reg), 0)
		u.off += 8
		n = size
	}
	u.base, u.off, u.out.N = state.base, state.off, 0
	return false
}

// moveSP does the instruction that gives an epilogue's stack back, and is the instruction's size; 0 where there is none.
func (u *undoing) moveSP(b []byte) int {
	const rexW, rexWB, rsp = 0x48, 0x49, 4
	if len(b) < 3 || b[0]&^1 != rexW {
		return 0
	}
	switch modRM := b[2]; {
	case b[0] == rexW && b[1] == 0x83 && modRM == 0xc4 && len(b) >= 4: // add rsp,imm8
		u.off += int64(int8(b[3]))
		return 4
	case b[0] == rexW && b[1] == 0x81 && modRM == 0xc4 && len(b) >= 7: // add rsp,imm32
		u.off += int64(int32(binary.LittleEndian.Uint32(b[3:])))
		return 7
	case b[1] == 0x8d && modRM>>3&7 == rsp && modRM&7 != rsp: // lea rsp,[reg+disp]
		if off, size := displacement(b); size != 0 {
			u.base, u.off = u.x64Register(modRM&7|b[0]&1<<3), off
			return size
		}
	}
	return 0
}

// displacement is that of a memory operand without an index in the instruction at b, of three bytes before it, and the
// instruction's size.
func displacement(b []byte) (off int64, size int) {
	switch mod, rm := b[2]>>6, b[2]&7; {
	case mod == 1 && len(b) >= 4:
		return int64(int8(b[3])), 4
	case mod == 2 && len(b) >= 7:
		return int64(int32(binary.LittleEndian.Uint32(b[3:]))), 7
	case mod == 0 && rm != 5: // 5: relative to RIP
		return 0, 3
	}
	return 0, 0
}

// popped is the register that the pop at b names, and the pop's size; 0 where b is none.
func popped(b []byte) (reg uint8, size int) {
	switch {
	case len(b) >= 1 && b[0]&^7 == 0x58:
		return b[0] & 7, 1
	case len(b) >= 2 && b[0] == 0x41 && b[1]&^7 == 0x58:
		return b[1]&7 | 8, 2
	}
	return 0, 0
}

// leaves tells whether the instruction at b, image address pc, ends an epilogue of f: a return, or a jump to where f does not go on.
func (u *undoing) leaves(f *pdata.Function, b []byte, pc uint64) bool {
	if len(b) >= 2 && b[0] == 0xf3 { // rep ret
		b = b[1:]
	}
	switch {
	case len(b) >= 1 && (b[0] == 0xc3 || b[0] == 0xc2):
		return true
	case len(b) >= 2 && b[0] == 0xeb:
		return u.elsewhere(f, pc+2+uint64(int64(int8(b[1]))))
	case len(b) >= 5 && b[0] == 0xe9:
		return u.elsewhere(f, pc+5+uint64(int64(int32(binary.LittleEndian.Uint32(b[1:])))))
	}
	if len(b) >= 3 && b[0]&^1 == 0x48 { // a jump through a table of the function itself has no prefix for 64 bits
		b = b[1:]
		return b[0] == 0xff && b[1]>>3&7 == 4
	}
	return len(b) >= 2 && b[0] == 0xff && b[1] == 0x25 // jmp [rip+import]
}

// elsewhere tells whether a jump leads out of f's function, or to its first instruction, which a call made the same way. A part that GCC
// moved away (f.cold) is no other function, though nothing says that the entry belongs to f: the frame is made when its first instruction
// runs, so that the prologue has no bytes.
func (u *undoing) elsewhere(f *pdata.Function, to uint64) bool {
	other, ok := pdata.Find(u.q.Image, to)
	if !ok {
		return true
	}
	info := pdata.UnwindInfoAt(u.q.Image, other.Info)
	if other.Entry == f.Entry {
		return to == f.Entry && info.Prologue != 0
	}
	return info.Prologue != 0 || len(info.Codes) == 0
}
