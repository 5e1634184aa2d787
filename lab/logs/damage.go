// Package logs damages logs of kernels and looks at what becomes of the backtraces: a frame that the undamaged log does not
// have, or behind which one of its frames is missing, must be a guess.
package logs

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// Damage is what happens to logs on their way. apply changes lines at a place.
type Damage struct {
	Name  string
	apply func(lines []string, at int, rnd *rand.Rand) []string
}

// Damages are all kinds.
func Damages() []Damage {
	return []Damage{
		{"a line is lost", func(l []string, at int, _ *rand.Rand) []string { return slices.Delete(l, at, at+1) }},
		{"three lines are lost", func(l []string, at int, _ *rand.Rand) []string { return slices.Delete(l, at, min(at+3, len(l))) }},
		{"the beginning is lost", func(l []string, at int, _ *rand.Rand) []string { return l[at:] }},
		{"the end is lost", func(l []string, at int, _ *rand.Rand) []string { return l[:at] }},
		{"a line is broken", broken},
		{"two lines change places", swapped},
		{"a letter is another", changed(letters)},
		{"a digit is another", changed(digits)},
		{"another report in between", mixed},
	}
}

const (
	letters = "abcdefghijklmnopqrstuvwxyz_"
	digits  = "0123456789abcdef"
)

func broken(l []string, at int, rnd *rand.Rand) []string {
	k := rnd.IntN(len(l[at]) + 1)
	return slices.Concat(l[:at], []string{l[at][:k], l[at][k:]}, l[at+1:])
}

func swapped(l []string, at int, _ *rand.Rand) []string {
	if at+1 < len(l) {
		l[at], l[at+1] = l[at+1], l[at]
	}
	return l
}

// changed puts one of set in the place of another.
func changed(set string) func(l []string, at int, rnd *rand.Rand) []string {
	return func(l []string, at int, rnd *rand.Rand) []string {
		var places []int
		for i := range len(l[at]) {
			if strings.IndexByte(set, l[at][i]) >= 0 {
				places = append(places, i)
			}
		}
		if len(places) > 0 {
			k := places[rnd.IntN(len(places))]
			l[at] = l[at][:k] + string(set[rnd.IntN(len(set))]) + l[at][k+1:]
		}
		return l
	}
}

// mixed prints the lines from at on and those of another place, up to 60 of each, in turns of some lines, as two processors do.
func mixed(l []string, at int, rnd *rand.Rand) []string {
	const most = 60
	a := l[at:min(at+most, len(l))]
	from := rnd.IntN(len(l))
	b := slices.Clone(l[from:min(from+most, len(l))])
	out := slices.Clone(l[:at])
	rest := l[at+len(a):]
	for len(a)+len(b) > 0 {
		n, m := min(len(a), rnd.IntN(4)), min(len(b), rnd.IntN(4))
		out = append(append(out, a[:n]...), b[:m]...)
		a, b = a[n:], b[m:]
	}
	return append(out, rest...)
}

// ofReport matches lines that reports consist of: places, registers, words, headings.
var ofReport = regexp.MustCompile(`\+0x[0-9a-f]+/0x|[0-9a-f]{8}|CPU: \d+ |Call [Tt]race|Backtrace|WARNING|BUG|Oops|epc|Unable to handle`)

// places are the lines that are worth damage.
func places(lines []string) (list []int) {
	for i, l := range lines {
		if ofReport.MatchString(l) {
			list = append(list, i)
		}
	}
	return list
}
