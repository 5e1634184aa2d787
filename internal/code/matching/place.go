package matching

import (
	"slices"

	"github.com/backsight/backsight/internal/code/disasm"
	"github.com/backsight/backsight/internal/code/features"
)

// Found is where a place of the old build lies in the new one.
type Found struct {
	// Pair has the functions; New is nil where the function was not matched.
	Pair
	// PC is the place's image address in the new build, if HasPC.
	PC    uint64
	HasPC bool
	// Same: the instructions there and in front of there are the same by kind, side by side. Else others lie around that are.
	Same bool
}

// maxAligned bounds the instructions of a function that is laid beside another one.
const maxAligned = 2048

// Find finds the place of an image address of the old build, which may be a return address, in the new one; ok is false where no
// function of the old build has that.
func (m *Match) Find(pc uint64) (f Found, ok bool) {
	i := m.Old.at(pc)
	if i < 0 {
		return f, false
	}
	f.Old, f.By = &m.Old.Functions[i], m.by[i]
	k := m.to[i]
	if k < 0 {
		return f, true
	}
	f.New = &m.New.Functions[k]
	a, b := m.Old.Places(f.Old), m.New.Places(f.New)
	at := slices.IndexFunc(a, func(p features.Place) bool { return p.PC == pc })
	if at < 0 || len(a) > maxAligned || len(b) > maxAligned {
		return f, true
	}
	if n := m.behind(a, b, at); n >= 0 {
		f.PC, f.HasPC, f.Same = b[n].PC, true, true
		return f, true
	}
	to := m.align(a, b)
	switch {
	case to[at] >= 0:
		f.PC, f.HasPC = b[to[at]].PC, true
		f.Same = at == 0 || to[at-1] == to[at]-1 && to[at] > 0
	case at > 0 && to[at-1] >= 0 && to[at-1]+1 < len(b):
		f.PC, f.HasPC = b[to[at-1]+1].PC, true
	}
	return f, true
}

// behind is the index in b of the instruction behind the one that names or calls the same as the one in front of at, where
// that is the only one in both functions; -1 else. So compilers may have put a function's parts in another order.
func (m *Match) behind(a, b []features.Place, at int) int {
	if at == 0 || !lone(a, &a[at-1]) {
		return -1
	}
	k := slices.IndexFunc(b, func(p features.Place) bool { return m.same(&a[at-1], &p) == tells })
	if k < 0 || k+1 == len(b) || !lone(b, &b[k]) {
		return -1
	}
	return k + 1
}

// lone tells whether an instruction of a function is the only one there that names or calls what it does.
func lone(list []features.Place, p *features.Place) bool {
	n := 0
	for i := range list {
		if list[i].Kind == p.Kind && list[i].Call == p.Call {
			n++
		}
	}
	return n == 1 && (p.Kind>>32 != 0 || p.Call != disasm.Addr{})
}

// tells is what two instructions are worth side by side that name or call the same.
const tells = 8

// Places are the instructions of a function of the build.
func (b *Build) Places(f *Function) []features.Place {
	return features.Places(b.Code, b.Code.Flows.Function(f.At))
}

// align lays instructions side by side, with as many as can be the same: for each of a the index in b, -1 for none.
func (m *Match) align(a, b []features.Place) []int {
	width := len(b) + 1
	best := make([]uint32, (len(a)+1)*width) // maxAligned each
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			best[i*width+k] = max(best[(i+1)*width+k], best[i*width+k+1], best[(i+1)*width+k+1]+m.same(&a[i], &b[k]))
		}
	}
	to := none(len(a))
	for i, k := 0, 0; i < len(a) && k < len(b); {
		gain := m.same(&a[i], &b[k])
		switch {
		case gain > 0 && best[i*width+k] == best[(i+1)*width+k+1]+gain:
			to[i] = k
			i, k = i+1, k+1
		case best[i*width+k] == best[(i+1)*width+k]:
			i++
		default:
			k++
		}
	}
	return to
}

// same is what two instructions are worth side by side, 0 where they are not the same by kind: those that name something and
// calls tell most.
func (m *Match) same(a, b *features.Place) uint32 {
	i, old := m.Old.index[a.Call]
	k, new := m.New.index[b.Call]
	switch {
	case a.Kind != b.Kind:
		return 0
	case old && new && m.to[i] == k:
		return tells
	case old && new && (m.to[i] >= 0 || m.from[k] >= 0):
		return 0
	case a.Kind>>32 != 0:
		return tells
	}
	return 1
}
