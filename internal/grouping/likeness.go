package grouping

import (
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/code/features"
	"github.com/backsight/backsight/internal/jsonreport"
)

// alignment is two chains side by side.
type alignment struct {
	like  float64 // of 1
	pairs []pair
	of    int // functions of the longer chain that count
}

type pair struct {
	name string
	like float64
}

// counted is how many functions of a chain are compared.
const counted = 6

// weights are what the functions of a chain count: the innermost of the program most, one that is not certain less, and what the
// program has asked a library for little, as much as many a place asks for.
func weights(list []jsonreport.Signed) []float64 {
	out, own := make([]float64, len(list)), 0
	for i := range list {
		f := &list[i]
		if own++; f.Import != "" {
			own--
			out[i] = 0.4
			continue
		}
		if out[i] = 1 / float64(own); !f.Sure {
			out[i] *= 0.7
		}
	}
	return out
}

// innermost is the index of the innermost function of the program itself.
func innermost(list []jsonreport.Signed) int {
	return max(0, slices.IndexFunc(list, func(f jsonreport.Signed) bool { return f.Import == "" }))
}

// compare aligns two chains so that what is alike lies side by side, in the order of both, and as much as can be.
func compare(a, b []jsonreport.Signed) (out alignment) {
	a, b = a[:min(len(a), counted)], b[:min(len(b), counted)]
	if len(a) == 0 || len(b) == 0 {
		return out
	}
	x, y := &a[innermost(a)], &b[innermost(b)]
	known := x.Known && y.Known && slices.Equal(x.Before, y.Before)
	if !known && (x.Like(y) < least || !samePlace(x, y)) {
		return out // where the program has done it is another place
	}
	weightA, weightB := weights(a), weights(b)
	gain := func(i, k int) float64 {
		if l := a[i].Like(&b[k]); l >= least {
			return l * min(weightA[i], weightB[k])
		}
		return 0
	}
	var best [counted + 1][counted + 1]float64 // of a from i on, and b from k on
	for i := len(a) - 1; i >= 0; i-- {
		for k := len(b) - 1; k >= 0; k-- {
			best[i][k] = max(best[i+1][k], best[i][k+1], best[i+1][k+1]+gain(i, k))
		}
	}
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case best[i][k] == best[i+1][k]:
			i++
		case best[i][k] == best[i][k+1]:
			k++
		default:
			out.pairs = append(out.pairs, pair{shown(&a[i], &b[k]), a[i].Like(&b[k])})
			i, k = i+1, k+1
		}
	}
	out.of = max(len(a), len(b))
	if known || x.Like(y) >= sure && x.Tells() && y.Tells() {
		out.like = 1 // who calls a function that says much is another way there
		return out
	}
	out.like = best[0][0] / max(total(weightA), total(weightB))
	return out
}

// least is how alike two functions must be to stand side by side; sure is how alike those are that nobody takes for others.
const least, sure = 0.4, 0.8

// samePlace tells whether two functions that are alike may stand at the same place, by what they name right in front of it.
func samePlace(a, b *jsonreport.Signed) bool {
	return len(a.Before) == 0 || len(b.Before) == 0 || features.Like(a.Before, b.Before, nil, nil) >= 0.7
}

func total(list []float64) (sum float64) {
	for _, w := range list {
		sum += w
	}
	return sum
}

// shown is what two functions that are alike are called.
func shown(a, b *jsonreport.Signed) string {
	for _, s := range []string{a.Import, a.Function, b.Function} {
		if s != "" {
			return s
		}
	}
	return a.Module + "+" + jsonreport.Short(a.Start)
}

// String says why two chains are alike.
func (a *alignment) String() string {
	var names []string
	for _, p := range a.pairs {
		if p.like == 1 {
			names = append(names, p.name)
		} else {
			names = append(names, fmt.Sprintf("%s (%.0f %%)", p.name, 100*p.like))
		}
	}
	return fmt.Sprintf("%d of %s alike: %s", len(a.pairs), functions(a.of), strings.Join(names, " ← "))
}
