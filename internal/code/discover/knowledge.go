package discover

import (
	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/memo"
)

// knowledge is what follows from certain entries, which find finds.
type knowledge struct {
	code disasm.Code
	find func() *certain
	made struct {
		certain    memo.Once[*certain]
		pointed    memo.Once[*pointed]
		candidates memo.Once[*candidates]
		farJumps   memo.Once[*farJumps]
		regions    memo.Once[*regions]
	}
}

func (k *knowledge) certain() *certain { return k.made.certain.Get(k.find) }

// pointed is what data points to.
func (k *knowledge) pointed() *pointed {
	return k.made.pointed.Get(func() *pointed { return allPointers(k.code, k.certain().literals) })
}

func (k *knowledge) candidates() *candidates {
	return k.made.candidates.Get(func() *candidates { return findCandidates(k.code, k.certain()) })
}

// farJumps are nil where the candidates have them.
func (k *knowledge) farJumps() *farJumps {
	return k.made.farJumps.Get(func() *farJumps { return findFarJumps(k.code, k.certain()) })
}

// near are the candidates around a place; those far from there may be missing.
func (k *knowledge) near(at disasm.Addr) *candidates {
	r := k.made.regions.Get(func() *regions { return newRegions(k.code, k.certain(), k.pointed) })
	if r == nil {
		return k.candidates()
	}
	return r.at(at)
}
