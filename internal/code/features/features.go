// Package features tells of a function what stays when the program is built again: the strings, the imports and the
// numbers that the code refers to, and how much there is of the code. Compilers and options change instructions, registers
// and addresses; few change what a function names.
//
//	leaf(p)     ─► offset 0x40 of a structure
//	route(m)    ─► "no route to %s", fprintf, inet_ntop, the number 5381
package features

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/analyses"
	"github.com/backsight/backsight/internal/code/dataflow"
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/discover"
)

// Function is what stays of a function.
type Function struct {
	Entry, End uint64 // image addresses
	// Named are hashes of what the code names: strings, imports, numbers. Sorted, each once, MaxNamed at most.
	Named []uint32
	// Offsets are hashes of the places of members in structures, sorted, each once.
	Offsets []uint32
	// Shape is a hash of the instructions' effects without registers and addresses: equal where the same compiler has
	// translated the same source.
	Shape uint32
	// NeverReturns: no path of the function leads back to its caller.
	NeverReturns bool
	// Calls are the functions of the image that direct calls and jumps go to, in the order of the code, maxCalls at most.
	Calls []disasm.Addr
	// Steps counts the instructions.
	Steps int
}

const (
	// MaxNamed bounds what is kept of one function.
	MaxNamed = 24
	// maxSteps bounds the instructions that are looked at.
	maxSteps = 1 << 14
	// maxCalls bounds the calls of one function that are kept.
	maxCalls = 256
)

// reader goes through a function.
type reader struct {
	*analyses.Image
	out   *Function
	shape uint32
	text  bool // what was named last is a string
}

// Of goes through a function of an image.
func Of(p *analyses.Image, f *dataflow.Function) *Function {
	out := &Function{Entry: f.Entry.PC, End: dataflow.EndFrom(f, f.Entry.PC), NeverReturns: p.Callees.NeverReturns(f.Entry)}
	r := reader{Image: p, out: out}
	r.each(f, func(*discover.Step) {})
	out.Named, out.Offsets, out.Shape = least(out.Named), least(out.Offsets), r.shape
	return out
}

// Place is an instruction of a function, and what of it stays: Kind is a hash of the effect and of what the instruction names.
type Place struct {
	PC, Kind uint64
	Call     disasm.Addr // the function of the image that it calls or jumps to; the zero Addr for none
	Text     bool        // what it names is a string
}

// Places are the instructions of a function.
func Places(p *analyses.Image, f *dataflow.Function) (list []Place) {
	out := &Function{End: dataflow.EndFrom(f, f.Entry.PC)}
	r := reader{Image: p, out: out}
	named, calls := 0, 0
	r.each(f, func(s *discover.Step) {
		at := Place{PC: s.At.PC, Kind: uint64(s.In.Op)}
		if len(out.Named) > named {
			at.Kind |= uint64(out.Named[named]) << 32
			at.Text = r.text
		}
		if len(out.Calls) > calls {
			at.Call = out.Calls[calls]
		}
		named, calls = len(out.Named), len(out.Calls)
		list = append(list, at)
	})
	return list
}

const (
	// near bounds the instructions in front of a place that are looked at.
	near = 256
	// enough is how much names a place: a string with what it is given to. A string counts text, all else 1.
	enough, text = 3, 2
)

// Before is what a function names right in front of a place: at the last call there and, for that call, behind the call before;
// where that is too little to know the place by, at the calls before, too. Compilers leave the order of calls, and inlining does not
// change it.
type Before struct {
	Named []uint32
	// Called are the functions of the image that are called.
	Called []disasm.Addr
	// Tells: nowhere else the same is likely to be named.
	Tells bool
}

// InFront is what the function f names right in front of an image address.
func InFront(p *analyses.Image, f *dataflow.Function, pc uint64) (b Before) {
	list := Places(p, f)
	i, _ := slices.BinarySearchFunc(list, pc, func(a Place, pc uint64) int { return cmp.Compare(a.PC, pc) })
	weight, calls := 0, 0
	for k := i - 1; k >= 0 && k > i-near; k-- {
		at := &list[k]
		if uint32(at.Kind) == uint32(cpu.OpCall) || at.Call != (disasm.Addr{}) {
			if weight >= enough {
				break
			}
			if calls++; calls == 1 {
				b, weight = Before{}, 0 // what stands behind the call may be there for the next one
			}
			if at.Call != (disasm.Addr{}) {
				b.Called = append(b.Called, at.Call)
			}
		}
		switch h := uint32(at.Kind >> 32); {
		case h != 0 && at.Text:
			b.Named, weight = append(b.Named, h), weight+text
		case h != 0:
			b.Named, weight = append(b.Named, h), weight+1
		}
	}
	b.Named, b.Tells = least(b.Named), calls > 0 && weight >= enough
	return b
}

// each goes through the instructions of a function, and calls behind for each when what it names is noted.
func (r *reader) each(f *dataflow.Function, behind func(s *discover.Step)) {
	left := maxSteps
	r.Entries.EachStep(f.Entry, r.out.End, func(s *discover.Step) bool {
		if left--; f.Contains(s.At.PC) {
			r.out.Steps++
			r.step(s)
			behind(s)
		}
		return left > 0
	})
}

// least are the MaxNamed smallest of a list of hashes, sorted, each once: of two functions that name much the same,
// much the same is kept (A. Broder, On the resemblance and containment of documents, 1997).
func least(list []uint32) []uint32 {
	slices.Sort(list)
	list = slices.Compact(list)
	return slices.Clip(list[:min(len(list), MaxNamed)])
}

// step looks at an instruction.
func (r *reader) step(s *discover.Step) {
	in := s.In
	r.shape = mix(r.shape, uint32(in.Op)<<8|uint32(in.Size))
	switch {
	case s.HasWord:
		r.imported(s.Word)
	case in.Op == cpu.OpCall || in.Op == cpu.OpJump:
		r.called(in)
	case s.Built:
		r.built(s.Value)
	case in.Op == cpu.OpCompareImm || in.Op == cpu.OpAndImm:
		r.number(uint64(in.Imm))
	case in.Op == cpu.OpLoad || in.Op == cpu.OpStore:
		r.member(in)
	}
}

// called notes the import that a direct call or jump leads to, or the function of the image.
func (r *reader) called(in *cpu.Insn) {
	if in.Target == 0 || in.Flags&(cpu.FlagGetPC|cpu.FlagTable|cpu.FlagMemory) != 0 {
		return
	}
	to := disasm.Target(in)
	if slot, ok := r.Callees.StubSlot(to); ok {
		r.imported(slot)
	} else if r.Callees.BindsLazily(to) {
		r.imported(to.PC)
	} else if len(r.out.Calls) < maxCalls && (in.Op == cpu.OpCall || r.Entries.IsEntry(to)) {
		r.out.Calls = append(r.out.Calls, to)
	}
}

// imported notes the import whose address the dynamic linker stores at an image address.
func (r *reader) imported(slot uint64) {
	if name, ok := r.Img.Import(slot); ok {
		r.name("import", name)
	}
}

// built notes a number that the code has completed: a string's address, an import's, or a number of its own.
func (r *reader) built(v uint64) {
	if s, ok := Text(r.Img, v); ok {
		r.name("string", s)
	} else if _, mapped := r.Img.Segments.At(v); !mapped {
		r.number(v)
	}
}

// number notes a number that tells something: powers of two, small ones and those of all ones are everywhere.
func (r *reader) number(v uint64) {
	const small = 256
	if n := int64(v); n >= small && n < 1<<32 && n&(n-1) != 0 && n&(n+1) != 0 {
		r.name("number", strconv.FormatInt(n, 16))
	}
}

// member notes the place of a member in a structure. What lies at SP and at the frame pointer are variables.
func (r *reader) member(in *cpu.Insn) {
	if in.Base == cpu.NoReg || in.Base == r.Arch.SP || in.Base == r.Arch.FP || in.Imm <= 0 {
		return
	}
	r.out.Offsets = append(r.out.Offsets, hash("member", strconv.FormatInt(in.Imm, 16)))
}

func (r *reader) name(kind, s string) {
	r.out.Named, r.text = append(r.out.Named, hash(kind, s)), kind == "string"
}

// longest is how much of a string is looked at, in bytes; shortest is what is called one.
const longest, shortest = 128, 3

// Text is the text that begins at an image address, in memory that the program does not write to: printable, and ended
// by a NUL, unless longer than what is looked at.
func Text(img *image.Image, at uint64) (string, bool) {
	seg, ok := img.Segments.At(at)
	if !ok || seg.Write || at-seg.Addr >= uint64(len(seg.Data)) {
		return "", false
	}
	b := seg.Data[at-seg.Addr:]
	b = b[:min(len(b), longest)]
	n := slices.IndexFunc(b, func(c byte) bool { return (c < ' ' || c > '~') && c != '\n' && c != '\t' })
	if n < 0 {
		n = len(b)
	} else if b[n] != 0 {
		return "", false
	}
	return string(b[:n]), n >= shortest
}

// hash is the FNV-1a hash of a kind and a name.
func hash(kind, name string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(kind))
	h.Write([]byte{0})
	h.Write([]byte(name))
	return h.Sum32()
}

// mix goes on with a hash by a number.
func mix(h, v uint32) uint32 { return (h ^ v) * 16777619 }

// Print is the hash of what names a function: of what its code refers to where that is two things or more, else of its
// shape and members as well.
func (f *Function) Print() uint32 {
	h := uint32(2166136261)
	for _, v := range f.Named {
		h = mix(h, v)
	}
	if len(f.Named) >= 2 {
		return h
	}
	for _, v := range f.Offsets {
		h = mix(h, v)
	}
	return mix(h, f.Shape)
}

// Tells tells whether a function names so much that no other one is likely to name the same.
func Tells(named []uint32) bool {
	const enough = 4
	return len(named) >= enough
}

// Like is how alike two functions are, from 0 to 1, by what they name and by the members that they use: by what both have of
// all that either has, members counting half; 0 where neither names anything.
func Like(named, otherNamed, members, otherMembers []uint32) float64 {
	both, all := common(named, otherNamed)
	bothMembers, allMembers := common(members, otherMembers)
	if all == 0 {
		return 0
	}
	return (2*float64(both) + float64(bothMembers)) / (2*float64(all) + float64(allMembers))
}

// common is how many of two sorted lists' elements are in both, and in either.
func common(a, b []uint32) (both, either int) {
	for len(a) > 0 && len(b) > 0 {
		either++
		switch cmp.Compare(a[0], b[0]) {
		case -1:
			a = a[1:]
		case 1:
			b = b[1:]
		default:
			both, a, b = both+1, a[1:], b[1:]
		}
	}
	return both, either + len(a) + len(b)
}
