package record

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/unwind"
)

// The kinds of an instruction boundary.
const (
	kindEntry    = "entry"
	kindPrologue = "prologue"
	kindBody     = "body"
	kindEpilogue = "epilogue"
	kindLeaf     = "leaf"
	kindNoCFI    = "nocfi"
	kindSignal   = "signal"
)

// kinds tells by call frame information, which this side alone sees, where in its
// function an instruction stands.
type kinds struct {
	img    *image.Image
	tables *cfi.Source
	at     map[uint64]rowKind
}

// rowKind is what the table's row at an instruction looks like.
type rowKind uint8

const (
	rowNone    rowKind = iota
	rowBare            // no frame
	rowPartial         // some of it
	rowFull            // all that the function ever saves
	rowLeaf            // the function never has a frame
)

func newKinds(img *image.Image) *kinds {
	return &kinds{img: img, tables: cfi.New(), at: map[uint64]rowKind{}}
}

// of classifies an activation's place and remembers in e that its frame was there.
func (k *kinds) of(pc uint64, mode cpu.Mode, e *entry) string {
	row := k.row(pc, mode)
	if row == rowFull {
		e.framed = true
	}
	switch {
	case row == rowNone:
		return kindNoCFI
	case pc == e.start:
		return kindEntry
	case row == rowLeaf:
		return kindLeaf
	case row == rowFull:
		return kindBody
	case e.framed:
		return kindEpilogue
	}
	return kindPrologue
}

// row looks an instruction up, classifying its whole function the first time.
func (k *kinds) row(pc uint64, mode cpu.Mode) rowKind {
	if r, ok := k.at[pc]; ok {
		return r
	}
	k.at[pc] = rowNone
	k.tables.FunctionRanges(k.img, func(lo, hi uint64) bool {
		if pc >= lo && pc < hi {
			k.function(lo&^uint64(mode), hi, mode)
			return false
		}
		return true
	})
	return k.at[pc]
}

// weight of a row: saved registers first, then how far away the CFA is.
func weight(arch *cpu.Arch, r *stackwalk.Rule) int64 {
	n := int64(0)
	for i := range r.N {
		if r.Regs[i].Kind == stackwalk.AtCFA {
			n++
		}
	}
	if r.RA.Kind == stackwalk.AtCFA && !arch.CallPushesRA {
		n++
	}
	if r.CFA.Base != arch.SP {
		n += 64
	}
	return n<<32 + r.CFA.Off
}

func (k *kinds) function(lo, hi uint64, mode cpu.Mode) {
	arch := k.img.Arch
	weights := map[uint64]int64{}
	var heaviest, lightest int64 = -1, 1 << 62
	var buf [32]cpu.Insn
	for pc := lo; pc < hi; {
		n := arch.Decoder.Decode(k.img.Segments.Code(pc), pc, mode, buf[:])
		if n == 0 {
			break
		}
		for i := range n {
			var r stackwalk.Rule
			q := stackwalk.Query{Image: k.img, Arch: arch, PC: pc, Mode: mode, Exact: true}
			if k.tables.Rule(&q, &r) == unwind.Found {
				w := weight(arch, &r)
				weights[pc] = w
				heaviest, lightest = max(heaviest, w), min(lightest, w)
			}
			pc += uint64(buf[i].Len)
		}
	}
	for pc, w := range weights {
		switch {
		case heaviest == lightest:
			k.at[pc] = rowLeaf
		case w == heaviest:
			k.at[pc] = rowFull
		case w == lightest:
			k.at[pc] = rowBare
		default:
			k.at[pc] = rowPartial
		}
	}
}
