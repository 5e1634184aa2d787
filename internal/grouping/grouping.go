// Package grouping puts crashes together that are the same: by equal keys first, then by how alike their functions are.
//
//	same exact key  ─► the same place of the same build
//	same stable key ─► the same functions, in another build
//	a beginning     ─► a chain cut short, with the functions that another begins with
//	alike           ─► chains whose functions are nearly the same, those further in and those that are certain counting more
package grouping

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/internal/jsonreport"
	"github.com/backsight/backsight/report"
)

// Crash is a capture by its signature.
type Crash struct {
	Capture string
	*jsonreport.Signature
}

// Member is a crash of a group, and why it is one; "" for the first.
type Member struct {
	Capture string `json:"capture"`
	Why     string `json:"why,omitempty"`
}

// Group is crashes that are the same; the first member names the group.
type Group struct {
	Title   string                `json:"title"`
	Members []Member              `json:"members"`
	First   *jsonreport.Signature `json:"signature"`
	// Keys are the exact keys of the members.
	Keys []string `json:"exact"`
}

// Groups are all groups so far. What a crash costs does not depend on how many groups there are. The zero value is ready;
// as JSON they can be kept, and gone on with.
type Groups struct {
	List []*Group `json:"groups"`
	// Unsigned are captures without a frame that is sure enough.
	Unsigned []string `json:"unsigned,omitempty"`

	exact   map[string]*Group
	stable  map[string]*Group
	holding map[string][]*Group // by what a function is known by, see Clues
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *Groups) UnmarshalJSON(b []byte) error {
	type plain Groups
	if err := json.Unmarshal(b, (*plain)(g)); err != nil {
		return err
	}
	g.List = slices.DeleteFunc(g.List, func(to *Group) bool { return to == nil || to.First == nil })
	for _, to := range g.List {
		g.learn(to)
		for _, k := range to.Keys {
			g.exact[k] = to
		}
	}
	return nil
}

// learn makes a group one that is found.
func (g *Groups) learn(to *Group) {
	if g.exact == nil {
		g.exact, g.stable, g.holding = map[string]*Group{}, map[string]*Group{}, map[string][]*Group{}
	}
	if k := to.First.Stable; k != "" && g.stable[k] == nil {
		g.stable[k] = to
	}
	for _, clue := range Clues(to.First) {
		if list := g.holding[clue]; len(list) < maxAsked {
			g.holding[clue] = append(list, to)
		}
	}
}

// alike is how alike two chains must be.
const alike = 0.72

// maxAsked bounds the groups that a crash is compared with.
const maxAsked = 64

// Add puts a crash into its group.
func (g *Groups) Add(c Crash) *Group {
	to, why := g.find(c.Signature)
	if to == nil {
		to = &Group{Title: c.Title, First: c.Signature}
		g.List = append(g.List, to)
		g.learn(to)
	}
	if c.Exact != "" && g.exact[c.Exact] == nil {
		g.exact[c.Exact] = to
		to.Keys = append(to.Keys, c.Exact)
	}
	to.Members = append(to.Members, Member{c.Capture, why})
	return to
}

// find is the group of a crash, and why it is that; nil where there is none yet.
func (g *Groups) find(c *jsonreport.Signature) (*Group, string) {
	if to := g.exact[c.Exact]; to != nil && c.Exact != "" {
		return to, "the same place of the same build"
	}
	if to := g.stable[c.Stable]; to != nil && c.Stable != "" {
		return to, "the same functions in another build"
	}
	var best *Group
	var most float64
	why := ""
	for _, o := range g.candidates(c) {
		switch like, says := Alike(c, o.First); {
		case like > 1:
			return o, says
		case like > most:
			best, most, why = o, like, says
		}
	}
	return best, why
}

// Alike is how alike two crashes with other keys are, and why they are the same: 0 for crashes that are not, more than 1 where one
// is the other's beginning.
func Alike(c, o *jsonreport.Signature) (like float64, why string) {
	if happened(c) != happened(o) {
		return 0, ""
	}
	if n := beginning(c, o); n > 0 {
		return 2, fmt.Sprintf("a shorter chain with the same %s", functions(n))
	}
	if a := compare(c.Frames, o.Frames); a.like >= alike {
		return a.like, a.String()
	}
	return 0, ""
}

func functions(n int) string {
	if n == 1 {
		return "function"
	}
	return fmt.Sprintf("%d functions", n)
}

// happened is what hit the program: the first word of a class, and whether the stack was full.
func happened(c *jsonreport.Signature) string {
	word, rest, _ := strings.Cut(c.Class, " ")
	if strings.HasPrefix(rest, report.CrashStackOverflow) {
		word += " " + report.CrashStackOverflow
	}
	return word
}

// candidates are the groups that a crash shares a function with, at most maxAsked, those with the most in common first.
func (g *Groups) candidates(c *jsonreport.Signature) (list []*Group) {
	common := map[*Group]int{}
	for _, clue := range Clues(c) {
		for _, o := range g.holding[clue] {
			if common[o]++; common[o] == 1 {
				list = append(list, o)
			}
		}
	}
	slices.SortStableFunc(list, func(a, b *Group) int { return cmp.Compare(common[b], common[a]) })
	return list[:min(len(list), maxAsked)]
}

// clued is how many functions of a chain have clues.
const clued = 5

// Clues are what the functions of a crash may be known by in another build: names, fingerprints, what they refer to.
func Clues(c *jsonreport.Signature) (list []string) {
	for i := range c.Frames[:min(len(c.Frames), clued)] {
		f := &c.Frames[i]
		for kind, s := range map[string]string{"import ": f.Import, "name ": f.Function, "print ": f.Print} {
			if s != "" {
				list = append(list, kind+s)
			}
		}
		for _, h := range f.Named {
			list = append(list, fmt.Sprintf("%08x", h))
		}
		if f.Known {
			list = append(list, fmt.Sprintf("at %08x", f.Before))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// beginning is how many functions a chain has that was cut short, where another begins with the same; 0 where not. One function
// alone says too little.
func beginning(a, b *jsonreport.Signature) int {
	short, long := a, b
	if a.Whole || !b.Whole && len(b.Frames) < len(a.Frames) {
		short, long = b, a
	}
	if short.Whole || len(short.Frames) < 2 || len(short.Frames) > len(long.Frames) {
		return 0
	}
	for i := range short.Frames {
		if short.Frames[i].Like(&long.Frames[i]) < 1 {
			return 0
		}
	}
	return len(short.Frames)
}
