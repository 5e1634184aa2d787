package diff

import (
	"cmp"
	stdelf "debug/elf"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/unwind/lint"
)

// readMapping reads them from a file's own symbol table; none if it is stripped.
func readMapping(path string) (m lint.Mapping) {
	f, err := stdelf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	syms, _ := f.Symbols()
	for _, s := range syms {
		name, _, _ := strings.Cut(s.Name, ".")
		r := lint.Run{Addr: s.Value, Data: name == "$d"}
		if name == "$t" {
			r.Mode = 1
		}
		if name == "$a" || name == "$t" || r.Data {
			m = append(m, r)
		}
	}
	slices.SortStableFunc(m, func(a, b lint.Run) int { return cmp.Compare(a.Addr, b.Addr) })
	return m
}
