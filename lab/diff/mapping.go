package diff

import (
	"cmp"
	stdelf "debug/elf"
	"slices"
	"strings"

	"github.com/backsight/backsight/cpu"
)

// run is what a file says of its bytes from addr on: code of a mode, or data.
type run struct {
	addr uint64
	mode cpu.Mode
	data bool
}

// mapping is what the mapping symbols of an ARM file tell (AAELF32 §5.5.5): $a A32,
// $t Thumb, $d data, sorted by address. Tables tell neither modes nor literal pools.
type mapping []run

// readMapping reads them from a file's own symbol table; none if it is stripped.
func readMapping(path string) (m mapping) {
	f, err := stdelf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	syms, _ := f.Symbols()
	for _, s := range syms {
		name, _, _ := strings.Cut(s.Name, ".")
		r := run{addr: s.Value, data: name == "$d"}
		if name == "$t" {
			r.mode = 1
		}
		if name == "$a" || name == "$t" || r.data {
			m = append(m, r)
		}
	}
	slices.SortStableFunc(m, func(a, b run) int { return cmp.Compare(a.addr, b.addr) })
	return m
}

// at finds the run that holds pc and where it ends.
func (m mapping) at(pc uint64) (r run, end uint64, ok bool) {
	i, _ := slices.BinarySearchFunc(m, pc+1, func(r run, a uint64) int { return cmp.Compare(r.addr, a) })
	end = ^uint64(0)
	if i < len(m) {
		end = m[i].addr
	}
	if i == 0 {
		return run{}, end, false
	}
	return m[i-1], end, true
}
