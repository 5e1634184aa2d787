package absint

import "github.com/backsight/backsight/cpu"

// width cuts a result to 32 bits where the instruction does.
func width(v Value, in *cpu.Insn, arch *cpu.Arch) Value {
	if in.Flags&cpu.FlagWord32 != 0 {
		return v.truncate(arch.AddrSize)
	}
	if v.Kind == Constant && arch.RegSize == 4 {
		v.Off = int64(int32(v.Off))
	}
	return v
}

// extended is an operand of which an instruction takes the low bytes: a constant or
// the element of a table of that size (ldrh w4; add x4,x1,w4,sxth #2).
func (ts *JumpTables) extended(v Value, in *cpu.Insn) Value {
	switch {
	case in.Flags&cpu.FlagSigned == 0 || in.Size == 0 || in.Size > 8:
		return v
	case v.Kind == Constant:
		unused := 64 - 8*uint(in.Size)
		return Const(v.Off << unused >> unused)
	case v.Kind == TableElement && ts.Table(v).Size == in.Size:
		return ts.signed(v)
	}
	return Value{}
}

// Sum is a + b<<scale, where one of them is a constant or a table's element.
func (ts *JumpTables) Sum(a, b Value, scale uint8) Value {
	switch {
	case a.Kind == TableElement && b.Kind == Constant:
		return ts.relative(a, b.Off<<scale, 0)
	case a.Kind == Constant && b.Kind == TableElement:
		return ts.relative(b, a.Off, scale)
	case b.Kind == Constant:
		return a.plusConstant(b.Off << scale)
	case a.Kind == Constant && scale == 0 && b.Kind != Unknown:
		return b.Plus(a.Off)
	case a.Kind == Constant && b.Kind == Unknown:
		return Value{Kind: TableAddress, Off: a.Off}
	}
	return Value{}
}

// or is a | b.
func or(a, b Value) Value {
	switch {
	case a.Kind == Constant && b.Kind == Constant:
		return Const(a.Off | b.Off)
	case a == Const(0):
		return b
	case b == Const(0):
		return a
	}
	return Value{}
}

// logic is a logical operation with a constant.
func (m *Interp) logic(a Value, in *cpu.Insn) Value {
	if a.Kind == TableElement {
		switch {
		case in.Op == cpu.OpShlImm:
			return m.JumpTables.scaled(a, uint8(in.Imm))
		case in.Op == cpu.OpOrImm && in.Imm == 1 && m.Arch.ISABit:
			return a // Thumb labels are stored even: orr r3,#1; bx r3
		}
		return Value{}
	}
	if a.Kind != Constant {
		return Value{}
	}
	switch in.Op {
	case cpu.OpOrImm:
		a.Off |= in.Imm
	case cpu.OpAndImm:
		a.Off &= in.Imm
	case cpu.OpShlImm:
		a.Off <<= uint64(in.Imm) & 63
	}
	return width(a, in, m.Arch)
}
