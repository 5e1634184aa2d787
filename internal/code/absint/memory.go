package absint

import "github.com/backsight/backsight/cpu"

// Operand is the address of a memory operand; unknown with an unknown index, unless the
// rest is constant.
func (s *State) Operand(in *cpu.Insn) Value {
	a := Const(in.Imm)
	if in.Base != cpu.NoReg {
		a = s.Get(in.Base).Plus(in.Imm)
	}
	if in.Index == cpu.NoReg {
		return a
	}
	x := s.Get(in.Index)
	if x.Kind == Constant && a.Kind == Constant && in.Scale > 1 {
		// Compilers do not index a table by a constant: the index is constant on a path
		// that the bounds check keeps away, or on one of several that are not known yet.
		return Value{Kind: TableAddress, Off: a.Off}
	}
	if x.Kind == Constant {
		return a.Plus(x.Off << in.Scale)
	}
	if a.Kind == Constant || a.Kind == TableAddress && x.Kind == Unknown {
		return Value{Kind: TableAddress, Off: a.Off}
	}
	return Value{}
}

// access does loads and stores, with write-back.
func (m *Interp) access(s *State, in *cpu.Insn, pc uint64) {
	a, back := s.Operand(in), Value{}
	if in.Base != cpu.NoReg {
		back = s.Get(in.Base).Plus(int64(in.WB))
	}
	switch in.Op {
	case cpu.OpStore:
		s.Store(a, s.Get(in.Src), in.Size)
		if in.Src2 != cpu.NoReg {
			s.Store(a.Plus(int64(in.Size)), s.Get(in.Src2), in.Size)
		}
	case cpu.OpLoad:
		v, v2 := m.Loaded(s, a, in), Value{}
		if in.Dst2 != cpu.NoReg {
			v2 = m.Loaded(s, a.Plus(int64(in.Size)), in)
		}
		m.bring(s, in.Dst, v)
		m.bring(s, in.Dst2, v2)
	case cpu.OpStoreMulti, cpu.OpLoadMulti:
		m.multiple(s, in, a, pc)
	}
	// A loaded base wins over its write-back (pop of SP).
	loadsBase := in.Op == cpu.OpLoad && in.Dst == in.Base || in.Op == cpu.OpLoadMulti && in.List.Has(in.Base)
	if in.Base != cpu.NoReg && in.WB != 0 && !loadsBase {
		m.Assign(s, in.Base, back, pc)
	}
}

func (m *Interp) multiple(s *State, in *cpu.Insn, a Value, pc uint64) {
	for set := in.List; set != 0; set = set.Without(set.First()) {
		r := set.First()
		if in.Op == cpu.OpStoreMulti {
			s.Store(a, s.Get(r), in.Size)
		} else {
			m.Assign(s, r, m.Loaded(s, a, in), pc)
		}
		a = a.Plus(int64(in.Size))
	}
}

// Loaded is the value of one element that a load reads at an address: a slot, a word of
// the file, or a table's element.
func (m *Interp) Loaded(s *State, a Value, in *cpu.Insn) Value {
	switch a.Kind {
	case StartRelative:
		if int(in.Size) != m.Arch.RegSize && int(in.Size) != m.Arch.AddrSize {
			return Value{}
		}
		return s.Load(a, in.Size)
	case Constant:
		return m.fileWord(uint64(a.Off)&m.Arch.AddrMask(), in)
	case TableAddress:
		return m.JumpTables.loadedElement(uint64(a.Off)&m.Arch.AddrMask(), in, s)
	}
	return Value{}
}

// fileWord is what the file holds at a constant address: literal pools, GOT entries. A word of writable
// memory without a value gets one while the program runs, unless the linker alone decides: the first 32 KB
// of a MIPS program that is linked to address 0 have page 0 in the GOT.
func (m *Interp) fileWord(at uint64, in *cpu.Insn) Value {
	size := int(in.Size)
	if size != m.Arch.AddrSize && size != 4 {
		return Value{}
	}
	v, ok := m.Img.Uint(at, size)
	if !ok {
		return Value{}
	}
	s, found := m.Img.Segments.At(at)
	writable := found && s.Write
	linked := (writable || v == 0) && m.Img.Linked(at)
	if v == 0 && !linked {
		return Value{}
	}
	k := Const(int64(v))
	if size == 4 && (in.Flags&cpu.FlagSigned != 0 || m.Arch.AddrSize == 4) {
		k = Const(int64(int32(v)))
	}
	if writable && !linked {
		k.Base = FromWritable
	}
	return k
}
