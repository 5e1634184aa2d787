package matching

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"

	"github.com/backsight/backsight/internal/code/features"
)

// How says by what two functions were matched.
type How string

// The ways to match, in the order in which they are tried.
const (
	ByBuild = How("build") // the build IDs are equal: the same addresses
	ByName  = How("name")
	ByCode  = How("code")  // the same instructions, by kind, and the same texts, imports and numbers
	ByTexts = How("texts") // the same texts, imports and numbers; or nearly, and no others as nearly
	ByCalls = How("calls") // the same callers and callees
	ByOrder = How("order") // between functions that were matched, as many in both builds
)

// Match is two builds and which functions are the same.
type Match struct {
	Old, New *Build
	// to are the indices of the new functions by the old ones', from the reverse; -1 for none.
	to, from []int
	by       []How
}

// maxRounds bounds how often what was matched is used to match more.
const maxRounds = 64

// New matches the functions of two builds.
func New(old, new *Build) *Match {
	m := &Match{Old: old, New: new, to: none(len(old.Functions)), from: none(len(new.Functions)), by: make([]How, len(old.Functions))}
	if id := old.Code.Img.BuildID; len(id) > 0 && bytes.Equal(id, new.Code.Img.BuildID) {
		m.unique(ByBuild, func(f *Function) string { return fmt.Sprint(f.At) })
		return m
	}
	m.unique(ByName, func(f *Function) string { return f.Name })
	m.unique(ByCode, codeKey)
	m.unique(ByTexts, textsKey)
	m.spread()
	for range maxRounds {
		if m.nearly() == 0 {
			break
		}
		m.spread()
	}
	return m
}

func none(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = -1
	}
	return list
}

// spread matches by the functions that are matched already, until there is no more.
func (m *Match) spread() {
	for range maxRounds {
		if m.calls()+m.unique(ByCalls, nil)+m.order()+m.unique(ByCode, codeKey)+m.unique(ByTexts, textsKey) == 0 {
			return
		}
	}
}

// least is how many instructions a function has at least to be known by their kinds alone.
const least = 8

// codeKey is equal where the same compiler has translated the same source.
func codeKey(f *Function) string {
	if f.Steps < least && len(f.Named) == 0 {
		return ""
	}
	return fmt.Sprint(f.Shape, f.Steps, f.Named, f.Offsets)
}

// textsKey is equal where functions name the same.
func textsKey(f *Function) string {
	if len(f.Named) < 2 {
		return ""
	}
	return fmt.Sprint(f.Named)
}

// unique matches the functions that a key is of, where one in each build has that; a nil key is that of the neighbours. "" is no
// key. It returns how many it has matched.
func (m *Match) unique(by How, key func(*Function) string) (n int) {
	oldKey, newKey := func(i int) string { return m.neighbours(m.Old, i, m.oldID) }, func(k int) string { return m.neighbours(m.New, k, m.newID) }
	if key != nil {
		oldKey, newKey = func(i int) string { return key(&m.Old.Functions[i]) }, func(k int) string { return key(&m.New.Functions[k]) }
	}
	inOld, inNew := alone(m.to, oldKey), alone(m.from, newKey)
	for s, i := range inOld {
		if k, ok := inNew[s]; ok && i >= 0 && k >= 0 && m.to[i] < 0 && m.from[k] < 0 && (by == ByBuild || by == ByName || m.mayBe(i, k)) {
			m.pair(i, k, by)
			n++
		}
	}
	return n
}

// alone are the functions that are not matched, by their keys; -1 where several have one.
func alone(matched []int, key func(int) string) map[string]int {
	list := map[string]int{}
	for i := range matched {
		if matched[i] >= 0 {
			continue
		}
		s := key(i)
		if s == "" {
			continue
		}
		if _, met := list[s]; met {
			list[s] = -1
		} else {
			list[s] = i
		}
	}
	return list
}

func (m *Match) pair(i, k int, by How) { m.to[i], m.from[k], m.by[i] = k, i, by }

// oldID and newID name a function that is matched alike in both builds; -1 for none.
func (m *Match) oldID(i int) int { return m.to[i] }
func (m *Match) newID(k int) int {
	if m.from[k] < 0 {
		return -1
	}
	return k
}

// neighbours is a key of the matched functions that call a function, and of those that it calls; "" where those are too few.
func (m *Match) neighbours(b *Build, i int, id func(int) int) string {
	known := func(list []int) (ids []int) {
		for _, k := range list {
			if n := id(k); n >= 0 {
				ids = append(ids, n)
			}
		}
		slices.Sort(ids)
		return slices.Compact(ids)
	}
	callers, calls := known(b.Functions[i].callers), known(b.Functions[i].calls)
	if len(callers) == 0 || len(callers)+len(calls) < 2 {
		return ""
	}
	return fmt.Sprint(callers, calls)
}

// calls matches what two functions that are matched call, one after the other, where they call as many and what is known of
// these agrees.
func (m *Match) calls() (n int) {
	for i, k := range m.to {
		if k < 0 {
			continue
		}
		a, b := m.Old.Functions[i].calls, m.New.Functions[k].calls
		if !m.agree(a, b) {
			continue
		}
		for x := range a {
			if m.to[a[x]] < 0 && m.from[b[x]] < 0 && m.mayBe(a[x], b[x]) {
				m.pair(a[x], b[x], ByCalls)
				n++
			}
		}
	}
	return n
}

// agree tells whether two lists of functions may be the same ones, in order: what is matched is matched with its place's.
func (m *Match) agree(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for x := range a {
		if (m.to[a[x]] >= 0 || m.from[b[x]] >= 0) && m.to[a[x]] != b[x] {
			return false
		}
	}
	return true
}

// maxBetween bounds the functions between two that are matched.
const maxBetween = 16

// order matches the functions between two that are matched, where as many lie between in both builds and each may be the other:
// compilers keep the order of a source file.
func (m *Match) order() (n int) {
	last := -1
	for i, k := range m.to {
		if k < 0 {
			continue
		}
		if last >= 0 && i-last > 1 && i-last <= maxBetween && k-m.to[last] == i-last && m.allMayBe(last+1, m.to[last]+1, i-last-1) {
			for x := 1; x < i-last; x++ {
				m.pair(last+x, m.to[last]+x, ByOrder)
				n++
			}
		}
		last = i
	}
	return n
}

// allMayBe tells whether each of so many functions in a row may be the one of the other build, and is unmatched.
func (m *Match) allMayBe(i, k, n int) bool {
	for x := range n {
		if m.to[i+x] >= 0 || m.from[k+x] >= 0 || !m.mayBe(i+x, k+x) {
			return false
		}
	}
	return true
}

// mayBe tells whether nothing speaks against two functions' being one: different names, other texts, another size by far.
func (m *Match) mayBe(i, k int) bool {
	a, b := &m.Old.Functions[i], &m.New.Functions[k]
	switch {
	case a.Name != "" && b.Name != "" && a.Name != b.Name:
		return false
	case len(a.Named) >= 2 || len(b.Named) >= 2:
		return features.Like(a.Named, b.Named, nil, nil) >= 0.3
	}
	const times, more = 3, 12
	return a.Steps <= times*b.Steps+more && b.Steps <= times*a.Steps+more
}

const (
	// maxAsked bounds the functions that one is compared with, and those that share a text which is worth asking.
	maxAsked = 64
	// near is how alike two functions must be, and margin by how much more than all others.
	near, margin = 0.5, 0.1
)

// nearly matches functions that are alike, each to the other more than all others to either.
func (m *Match) nearly() (n int) {
	sharing := map[uint32][]int{}
	for k := range m.from {
		if m.from[k] < 0 {
			for _, h := range m.New.Functions[k].Named {
				sharing[h] = append(sharing[h], k)
			}
		}
	}
	bestOfNew := make([]candidate, len(m.from))
	bestOfOld := make([]candidate, len(m.to))
	for i := range m.to {
		if m.to[i] >= 0 {
			continue
		}
		for _, k := range m.asked(i, sharing) {
			like := m.like(i, k)
			bestOfOld[i].take(k, like)
			bestOfNew[k].take(i, like)
		}
	}
	for i := range bestOfOld {
		if best := &bestOfOld[i]; best.clear() && bestOfNew[best.is].clear() && bestOfNew[best.is].is == i {
			m.pair(i, best.is, ByTexts)
			n++
		}
	}
	return n
}

// candidate is the function that is most like one, and how like the next best is.
type candidate struct {
	is         int
	like, next float64
}

func (c *candidate) take(is int, like float64) {
	if like > c.like {
		c.is, c.like, c.next = is, like, c.like
	} else {
		c.next = max(c.next, like)
	}
}

func (c *candidate) clear() bool { return c.like >= near && c.like >= c.next+margin }

// asked are the unmatched new functions that may be an old one: those that share a text which few have, and those that the
// partners of its neighbours call, or are called by.
func (m *Match) asked(i int, sharing map[uint32][]int) (list []int) {
	f := &m.Old.Functions[i]
	for _, h := range f.Named {
		if with := sharing[h]; len(with) <= maxAsked {
			list = append(list, with...)
		}
	}
	for _, c := range f.callers {
		if k := m.to[c]; k >= 0 {
			list = append(list, m.New.Functions[k].calls...)
		}
	}
	for _, c := range f.calls {
		if k := m.to[c]; k >= 0 && len(m.New.Functions[k].callers) <= maxAsked {
			list = append(list, m.New.Functions[k].callers...)
		}
	}
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list), func(k int) bool { return m.from[k] >= 0 || !m.mayBe(i, k) })
	return list[:min(len(list), maxAsked)]
}

// like is how alike two functions are, from 0 to 1: by what they name, and by their neighbours that are matched.
func (m *Match) like(i, k int) float64 {
	a, b := &m.Old.Functions[i], &m.New.Functions[k]
	texts := features.Like(a.Named, b.Named, a.Offsets, b.Offsets)
	both, all := m.shared(a.callers, b.callers)
	bothCalls, allCalls := m.shared(a.calls, b.calls)
	switch both, all = both+bothCalls, all+allCalls; {
	case all == 0:
		return texts
	case len(a.Named)+len(b.Named) == 0:
		return float64(both) / float64(max(all, 2))
	}
	return (texts + float64(both)/float64(all)) / 2
}

// shared is how many functions of two lists are matched with one another, and how many there are in all.
func (m *Match) shared(a, b []int) (both, all int) {
	met := map[int]bool{}
	for _, i := range a {
		if k := m.to[i]; k >= 0 {
			met[k] = true
		}
	}
	all = len(met)
	seen := map[int]bool{}
	for _, k := range b {
		if m.from[k] < 0 || seen[k] {
			continue
		}
		if seen[k] = true; met[k] {
			both++
		} else {
			all++
		}
	}
	return both, all
}

// Pair is a function of each build; one is nil where the other build alone has it, as far as is known.
type Pair struct {
	Old, New *Function
	By       How
}

// Pairs are all functions, by the old addresses, those of the new build alone behind.
func (m *Match) Pairs() (list []Pair) {
	for i := range m.to {
		p := Pair{Old: &m.Old.Functions[i], By: m.by[i]}
		if k := m.to[i]; k >= 0 {
			p.New = &m.New.Functions[k]
		}
		list = append(list, p)
	}
	for k := range m.from {
		if m.from[k] < 0 {
			list = append(list, Pair{New: &m.New.Functions[k]})
		}
	}
	return list
}

// maxAbove bounds the functions that begin between a place and the beginning of the place's own.
const maxAbove = 8

// at is the index of the function of a build that has an address, -1 for none.
func (b *Build) at(pc uint64) int {
	i, _ := slices.BinarySearchFunc(b.Functions, pc+1, func(f Function, pc uint64) int { return cmp.Compare(f.Entry, pc) })
	for k := i - 1; k >= 0 && k >= i-maxAbove; k-- {
		if b.Code.Flows.Function(b.Functions[k].At).Contains(pc) {
			return k
		}
	}
	return -1
}
