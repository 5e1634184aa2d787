// Package sframe finds unwind rules in SFrame tables, versions 2 and 3, of AArch64 and x86-64: what the assembler keeps of
// call frame information, which is where the CFA, the return address and the frame pointer are. Of other registers
// nothing is said.
//
//	header ─► FDEs: a function's start and size, its first FRE; in version 2 also how many there are, and of which kind
//	       └► FREs: in version 3 first the same of the function; from where on, base register, offsets of 1, 2 or 4 bytes
//
// Specification: GNU binutils, "The SFrame format", and include/sframe.h. internal/tables/sframe writes version 2.
package sframe

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/unwind"
	"github.com/backsight/backsight/unwind/rule"
)

// Source implements stackwalk.RuleSource.
type Source struct{}

// Method is MethodCFI: the tables state what the compiler's tables would.
func (Source) Method() unwind.Method { return unwind.MethodCFI }

// Knows implements stackwalk.ImageSource.
func (Source) Knows(img *image.Image) bool { return len(tableOf(img).functions) > 0 }

// Rule finds the row that covers q.PC. There is one answer per place.
func (Source) Rule(q *stackwalk.Query, out *stackwalk.Rule) unwind.Verdict {
	if q.Try > 0 {
		return unwind.NotCovered
	}
	t := tableOf(q.Image)
	i, found := slices.BinarySearchFunc(t.functions, q.PC, func(f function, pc uint64) int { return cmp.Compare(f.start, pc) })
	if !found {
		i--
	}
	if i < 0 || q.PC-t.functions[i].start >= t.functions[i].size {
		return unwind.NotCovered
	}
	f := t.functions[i]
	row, v := t.find(&f, q.PC-f.start)
	if v != unwind.Found {
		return v
	}
	out.Start, out.Flags = f.start, stackwalk.StartStated
	if f.info&infoSignal != 0 && t.version >= 3 {
		out.Flags |= stackwalk.SignalFrame
	}
	return t.rule(&row, &f, q.Arch, out)
}

// Numbers of include/sframe.h.
const (
	magic    = 0xdee2
	flagPC   = 4 // starts are relative to where they stand
	abiBig   = 1 // AArch64 big-endian
	abiARM64 = 2
	abiAMD64 = 3

	sizeHeader = 28
	sizeFDE2   = 20
	sizeFDE3   = 16

	infoMask   = 1 << 4 // rows repeat, as a PLT's stubs do
	infoSignal = 1 << 7
	typeFlex   = 1 // rules over any register, by pairs of words

	// maxRows bounds the rows of a function, which each question goes through; the largest of libLLVM has 500.
	maxRows = 1 << 14
)

// table is the table of one image; without functions where there is none that is known.
type table struct {
	functions []function // by start
	fres      []byte
	version   uint8
	big       bool
	fixedFP   int64 // places from the CFA, 0 where they vary
	fixedRA   int64
}

// function is a descriptor of either version.
type function struct {
	start, size  uint64
	fre, rows    uint32
	info, repeat uint8
	kind         uint8
}

func tableOf(img *image.Image) *table {
	type key struct{}
	return img.Memo(key{}, func() any {
		t := new(table)
		if s, ok := img.Sections.Named(".sframe"); ok {
			t.read(s.Data, s.Addr, img.Arch)
		}
		return t
	}).(*table)
}

// read reads the header and the descriptors, no more of them than the section has bytes for.
func (t *table) read(data []byte, addr uint64, arch *cpu.Arch) {
	t.big = arch.BigEndian
	r := bin.New(data, t.big)
	if r.U16() != magic {
		return
	}
	t.version = r.U8()
	flags, abi := r.U8(), r.U8()
	t.fixedFP, t.fixedRA = int64(int8(r.U8())), int64(int8(r.U8()))
	behind := sizeHeader + uint64(r.U8())
	count, _, size := r.U32(), r.U32(), uint64(r.U32())
	fdes, fres := behind+uint64(r.U32()), behind+uint64(r.U32())
	known := abi == abiAMD64 && arch.Name == "x86_64" || (abi == abiARM64 || abi == abiBig) && arch.Name == "aarch64"
	if r.Err() != nil || !known || t.version != 2 && t.version != 3 {
		return
	}
	rows := bin.NewAt(data, fres, t.big)
	t.fres = rows.Bytes(min(size, uint64(rows.Len())))
	each := sizeFDE2
	if t.version == 3 {
		each = sizeFDE3
	}
	list := bin.NewAt(data, fdes, t.big)
	t.functions = make([]function, bin.Limit(uint64(count), list.Len()/each))
	for i := range t.functions {
		base := addr
		if flags&flagPC != 0 {
			base += uint64(list.Offset())
		}
		t.functions[i] = t.function(&list, base)
	}
	byStart := func(a, b function) int { return cmp.Compare(a.start, b.start) }
	if !slices.IsSortedFunc(t.functions, byStart) {
		slices.SortStableFunc(t.functions, byStart)
	}
}

// function reads a descriptor; in version 3, what stands before the function's rows belongs to that.
func (t *table) function(r *bin.Reader, base uint64) (f function) {
	if t.version == 2 {
		f.start = base + uint64(int64(int32(r.U32())))
		f.size, f.fre, f.rows = uint64(r.U32()), r.U32(), r.U32()
		f.info, f.repeat = r.U8(), r.U8()
		r.Skip(2)
		return f
	}
	f.start = base + r.U64()
	f.size, f.fre = uint64(r.U32()), r.U32()
	own := bin.NewAt(t.fres, uint64(f.fre), t.big)
	f.rows, f.info, f.kind, f.repeat = uint32(own.U16()), own.U8(), own.U8()&31, own.U8()
	f.fre += 5
	return f
}

// row is a row: the words behind its info.
type row struct {
	info  uint8
	words [6]int64
	n     int
}

// find is the last row of a function that begins at or before an offset.
func (t *table) find(f *function, at uint64) (found row, v unwind.Verdict) {
	if f.rows > maxRows {
		return found, unwind.Unsupported
	}
	if f.info&infoMask != 0 && f.repeat != 0 {
		at %= uint64(f.repeat)
	}
	r := bin.NewAt(t.fres, uint64(f.fre), t.big)
	v = unwind.NotCovered
	for range f.rows {
		start := r.Uint(1 << min(f.info&15, 2))
		next := row{info: r.U8()}
		next.n = int(next.info >> 1 & 15)
		size := 1 << (next.info >> 5 & 3)
		if size > 4 || next.n > len(next.words) || f.info&15 > 2 {
			return found, unwind.Malformed
		}
		for i := range next.n {
			shift := 64 - 8*size
			next.words[i] = int64(r.Uint(size)) << shift >> shift
		}
		if r.Err() != nil {
			return found, unwind.Malformed
		}
		if start > at {
			break
		}
		found, v = next, unwind.Found
	}
	return found, v
}

// rule is what a row says. A row without words is that of an outermost frame.
func (t *table) rule(w *row, f *function, arch *cpu.Arch, out *stackwalk.Rule) unwind.Verdict {
	if w.n == 0 {
		return unwind.EndOfStack
	}
	out.RA = rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: arch.LR}
	if t.fixedRA != 0 {
		out.RA = rule.Register{Kind: rule.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: t.fixedRA}
	}
	fp := rule.Register{Kind: rule.SameValue, Reg: arch.FP, Base: cpu.NoReg}
	if t.fixedFP != 0 {
		fp.Kind, fp.Off = rule.AtCFA, t.fixedFP
	}
	if f.kind == typeFlex {
		if !w.flexible(arch, out, &fp) {
			return unwind.Unsupported
		}
	} else {
		w.plain(t.fixedRA != 0, arch, out, &fp)
	}
	if w.info&0x80 != 0 {
		out.Flags |= rule.SignedRA
	}
	out.Add(fp)
	for lost := arch.Preserved.Without(arch.FP); lost != 0; lost = lost.Without(lost.First()) {
		out.Add(rule.Register{Kind: rule.Undefined, Reg: lost.First(), Base: cpu.NoReg})
	}
	return unwind.Found
}

// plain reads the words of a default descriptor: the CFA from SP or FP, then the places of what varies, from the CFA.
func (w *row) plain(fixedRA bool, arch *cpu.Arch, out *stackwalk.Rule, fp *rule.Register) {
	out.CFA = rule.Register{Kind: rule.RegPlus, Reg: cpu.NoReg, Base: arch.FP, Off: w.words[0]}
	if w.info&1 != 0 {
		out.CFA.Base = arch.SP
	}
	rest := w.words[1:max(w.n, 1)]
	if !fixedRA && len(rest) > 0 {
		out.RA = rule.Register{Kind: rule.AtCFA, Reg: cpu.NoReg, Base: cpu.NoReg, Off: rest[0]}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		fp.Kind, fp.Off = rule.AtCFA, rest[0]
	}
}

// flexible reads the words of a flexible descriptor: pairs for CFA, return address and frame pointer, of a control word, which has a
// register's number above three bits, and an offset. A control word of 0 stands alone, and says nothing.
func (w *row) flexible(arch *cpu.Arch, out *stackwalk.Rule, fp *rule.Register) bool {
	const byRegister, loads = 1, 2
	words := w.words[:w.n]
	for i, to := range [...]*rule.Register{&out.CFA, &out.RA, fp} {
		if len(words) == 0 {
			break
		}
		control := words[0]
		if words = words[1:]; control == 0 && i > 0 {
			continue
		}
		if len(words) == 0 {
			return false
		}
		off := words[0]
		words = words[1:]
		switch base, ok := arch.RegByDWARF(uint64(control) >> 3 & 31); {
		case control&byRegister == 0 && i > 0 && control&loads != 0:
			*to = rule.Register{Kind: rule.AtCFA, Reg: to.Reg, Base: cpu.NoReg, Off: off}
		case control&byRegister == 0 || !ok:
			return false
		case control&loads != 0:
			*to = rule.Register{Kind: rule.AtReg, Reg: to.Reg, Base: base, Off: off}
		default:
			*to = rule.Register{Kind: rule.RegPlus, Reg: to.Reg, Base: base, Off: off}
		}
	}
	return out.CFA.Kind != rule.Unspecified
}
