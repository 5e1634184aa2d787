// Package comparing lays two reports side by side: which threads are the same, which frames, and what differs.
//
//	A                B
//	#0 word+0x9      #0 word+0x9         the same place
//	#1 on_route      #1 on_route         another place of the function
//	#2 pack                              only in A
//	#3 main          #2 main
package comparing

import (
	"cmp"
	"slices"

	"github.com/backsight/backsight/internal/jsonreport"
)

// Relation is what two frames side by side are to one another.
type Relation string

// The relations of frames.
const (
	SamePlace    Relation = "same place"
	SameFunction Relation = "other place" // of the same function
	Alike        Relation = "alike"       // functions without a name in common, whose code refers to much the same
	Inlined      Relation = "inlined"     // in one of the two
	OnlyA        Relation = "only in A"
	OnlyB        Relation = "only in B"
)

// Row is two frames side by side, one of them nil where only the other report has it.
type Row struct {
	A, B *jsonreport.Frame
	Relation
}

// Threads are two threads side by side, one of them nil where only the other report has it.
type Threads struct {
	A, B *jsonreport.Thread
	Rows []Row
}

// Fact is something that both reports tell, each in its words.
type Fact struct{ Name, A, B string }

// Comparison is two reports side by side.
type Comparison struct {
	A, B    *jsonreport.Report
	Facts   []Fact
	Threads []Threads
	// Registers are those of the crashed threads' innermost frames that differ.
	Registers []Fact
}

// maxThreads bounds the threads of a report that are compared, maxFrames the frames of a thread.
const maxThreads, maxFrames = 256, 512

// Compare lays two reports side by side.
func Compare(a, b *jsonreport.Report) *Comparison {
	c := &Comparison{A: a, B: b, Facts: facts(a, b)}
	left, same := pointers(b.Threads), builds(a, b)
	for _, t := range pointers(a.Threads) {
		k := partner(a, b, t, left)
		if k < 0 {
			c.Threads = append(c.Threads, Threads{A: t})
			continue
		}
		c.Threads = append(c.Threads, Threads{t, left[k], align(t, left[k], same)})
		left = slices.Delete(left, k, k+1)
	}
	for _, t := range left {
		c.Threads = append(c.Threads, Threads{B: t})
	}
	if x, y := a.Named(), b.Named(); x != nil && y != nil && len(x.Frames) > 0 && len(y.Frames) > 0 {
		c.Registers = registers(x.Frames[0].Registers, y.Frames[0].Registers)
	}
	return c
}

func pointers(list []jsonreport.Thread) []*jsonreport.Thread {
	out := make([]*jsonreport.Thread, min(len(list), maxThreads))
	for i := range out {
		out[i] = &list[i]
	}
	return out
}

// partner is the index of the thread of b that a thread of a is: the one that crashed of the one that crashed, else that with the
// most frames in common, of the same name first; -1 for none.
func partner(a, b *jsonreport.Report, t *jsonreport.Thread, list []*jsonreport.Thread) int {
	best, most := -1, 0.0
	for k, o := range list {
		if crashed(a, t) != crashed(b, o) {
			continue
		}
		if crashed(a, t) {
			return k
		}
		score := similar(t, o)
		if t.Name != "" && t.Name == o.Name {
			score++
		}
		if score > most {
			best, most = k, score
		}
	}
	return best
}

func crashed(r *jsonreport.Report, t *jsonreport.Thread) bool {
	i := r.Crash.Thread
	return i != nil && *i >= 0 && *i < len(r.Threads) && &r.Threads[*i] == t
}

// similar is how much of the functions of two threads is the same, from 0 to 1.
func similar(a, b *jsonreport.Thread) float64 {
	if len(a.Frames) == 0 || len(b.Frames) == 0 {
		return 0
	}
	names := map[string]bool{}
	for i := range a.Frames {
		names[Name(&a.Frames[i])] = true
	}
	n := 0
	for i := range b.Frames {
		if names[Name(&b.Frames[i])] {
			n++
		}
	}
	return float64(n) / float64(max(len(a.Frames), len(b.Frames)))
}

// Name is what a frame is called: its function, else the place in its binary.
func Name(f *jsonreport.Frame) string {
	if f.Function != "" {
		return f.Function
	}
	return cmp.Or(f.Module, "?") + "+" + jsonreport.Short(cmp.Or(f.ModuleOffset, f.Offset))
}

// builds are the binaries of which both reports have the same build, by name.
func builds(a, b *jsonreport.Report) map[string]bool {
	ids := map[string]string{}
	for _, m := range a.Modules {
		ids[m.Name] = m.ID
	}
	same := map[string]bool{}
	for _, m := range b.Modules {
		same[m.Name] = m.ID != "" && ids[m.Name] == m.ID
	}
	return same
}

// facts are what the reports tell of the program as a whole, and the binaries in which they differ.
func facts(a, b *jsonreport.Report) (list []Fact) {
	add := func(name, x, y string) {
		if x != "" || y != "" {
			list = append(list, Fact{name, x, y})
		}
	}
	add("processor", a.System.CPU, b.System.CPU)
	add("signal", a.Crash.Type, b.Crash.Type)
	add("address", cmp.Or(a.Crash.Address, a.Crash.Own.Address), cmp.Or(b.Crash.Address, b.Crash.Own.Address))
	add("cause", a.Crash.Own.Kind, b.Crash.Own.Kind)
	add("access", a.Crash.Own.Access, b.Crash.Own.Access)
	ids := map[string]string{}
	for _, m := range b.Modules {
		ids[m.Name] = m.ID
	}
	for _, m := range a.Modules {
		if id, ok := ids[m.Name]; ok && id != m.ID {
			add("build of "+m.Name, cmp.Or(m.ID, "?"), cmp.Or(id, "?"))
		}
	}
	return list
}

// registers are those that differ, by name.
func registers(a, b map[string]string) (list []Fact) {
	for name, v := range a {
		if o := b[name]; o != v && o != "" {
			list = append(list, Fact{name, v, o})
		}
	}
	slices.SortFunc(list, func(x, y Fact) int { return cmp.Compare(x.Name, y.Name) })
	return list
}
