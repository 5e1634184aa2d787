package lint

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/cpu"
)

// Run is what a file says of its bytes from Addr on: code of a mode, or data.
type Run struct {
	Addr uint64
	Mode cpu.Mode
	Data bool
}

// Mapping is what the mapping symbols of an ARM file tell (AAELF32 §5.5.5): $a A32,
// $t Thumb, $d data, sorted by address. Tables tell neither modes nor literal pools.
type Mapping []Run

// at finds the run that holds pc and where it ends.
func (m Mapping) at(pc uint64) (r Run, end uint64, ok bool) {
	i, _ := slices.BinarySearchFunc(m, pc+1, func(r Run, a uint64) int { return cmp.Compare(r.Addr, a) })
	end = ^uint64(0)
	if i < len(m) {
		end = m[i].Addr
	}
	if i == 0 {
		return Run{}, end, false
	}
	return m[i-1], end, true
}
