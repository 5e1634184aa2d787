//go:build !small

package display

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/backsight/backsight/internal/grouping"
	"github.com/backsight/backsight/internal/typeset"
)

// AppendGroups appends groups of crashes, the largest first, with at most so many captures each.
func AppendGroups(dst []byte, groups *grouping.Groups, most int) []byte {
	list := slices.Clone(groups.List)
	slices.SortStableFunc(list, func(a, b *grouping.Group) int { return cmp.Compare(len(b.Members), len(a.Members)) })
	crashes := 0
	for _, g := range list {
		crashes += len(g.Members)
	}
	dst = fmt.Appendf(dst, "%d %s in %d %s\n", crashes, plural(crashes, "crash", "crashes"), len(list), plural(len(list), "group", "groups"))
	for n, g := range list {
		dst = fmt.Appendf(dst, "\n#%d  %d × ", n+1, len(g.Members))
		dst = append(typeset.AppendText(dst, g.Title), '\n')
		dst = fmt.Appendf(dst, "    exact %s, stable %s\n", typeset.OrDash(g.First.Exact), typeset.OrDash(g.First.Stable))
		for i := range g.Members {
			if i == most {
				dst = fmt.Appendf(dst, "    and %d more\n", len(g.Members)-most)
				break
			}
			m := &g.Members[i]
			if dst = typeset.AppendText(append(dst, "    "...), m.Capture); m.Why != "" {
				dst = typeset.AppendText(append(dst, "  "...), m.Why)
			}
			dst = append(dst, '\n')
		}
	}
	if len(groups.Unsigned) > 0 {
		dst = fmt.Appendf(dst, "\nwithout a frame that is sure enough: %d\n", len(groups.Unsigned))
		for _, c := range groups.Unsigned[:min(len(groups.Unsigned), most)] {
			dst = append(typeset.AppendText(append(dst, "    "...), c), '\n')
		}
	}
	return dst
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}
