package comparing

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/internal/jsonreport"
)

// thread is a chain of functions, innermost first; "f+4" is a place in f, "app@10" one in a binary, without a name.
func thread(places ...[3]string) jsonreport.Thread {
	var t jsonreport.Thread
	for i, p := range places {
		t.Frames = append(t.Frames, jsonreport.Frame{Number: i, Module: "app", Function: p[0], FunctionOffset: p[1], ModuleOffset: p[2]})
	}
	return t
}

// relations are those of the rows of two threads that crashed.
func relations(a, b jsonreport.Thread, build, other string) (list []Relation) {
	at := 0
	report := func(t jsonreport.Thread, id string) *jsonreport.Report {
		r := &jsonreport.Report{Modules: []jsonreport.Module{{Name: "app", ID: id}}, Threads: []jsonreport.Thread{t}}
		r.Crash.Thread = &at
		return r
	}
	for _, row := range Compare(report(a, build), report(b, other)).Threads[0].Rows {
		list = append(list, row.Relation)
	}
	return list
}

func TestRelations(t *testing.T) {
	word, route, pack, start := [3]string{"word", "0x9", "0x10"}, [3]string{"on_route", "0x18", "0x20"}, [3]string{"pack", "0x4", "0x30"}, [3]string{"main", "0x7", "0x40"}
	later := [3]string{"on_route", "0x24", "0x2c"}
	for _, c := range []struct {
		a, b         jsonreport.Thread
		build, other string
		want         []Relation
	}{
		{thread(word, route, pack, start), thread(word, later, start), "1", "2", []Relation{SamePlace, SameFunction, OnlyA, SamePlace}},
		{thread(route, start), thread(word, route, start), "1", "2", []Relation{OnlyB, SamePlace, SamePlace}},
		// Without names: the same places of one build, and of two builds nothing that is known to be the same.
		{thread([3]string{"", "", "0x10"}), thread([3]string{"", "", "0x10"}), "1", "1", []Relation{SamePlace}},
		{thread([3]string{"", "", "0x10"}), thread([3]string{"", "", "0x10"}), "1", "2", []Relation{OnlyA, OnlyB}},
		{thread(), thread(word), "1", "1", []Relation{OnlyB}},
	} {
		if got := relations(c.a, c.b, c.build, c.other); !slices.Equal(got, c.want) {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}

// A function that the compiler has inlined stands beside the frame that has it.
func TestInlined(t *testing.T) {
	a, b := thread([3]string{"word", "0x9", "0x10"}, [3]string{"main", "0x7", "0x40"}), thread([3]string{"main", "0x9", "0x42"})
	b.Frames[0].Inlines = []jsonreport.Inline{{Function: "word"}}
	if got := relations(a, b, "1", "2"); !slices.Equal(got, []Relation{OnlyA, SameFunction}) {
		t.Errorf("%q", got)
	}
	b.Frames[0].Function = "other"
	if got := relations(a, b, "1", "2"); !slices.Equal(got, []Relation{Inlined, OnlyA}) {
		t.Errorf("%q", got)
	}
}

// Threads that did not crash are paired by their names and frames; what is left stands alone.
func TestPairs(t *testing.T) {
	idle, work := thread([3]string{"wait", "0x1", "0x1"}, [3]string{"idle", "0x1", "0x2"}), thread([3]string{"read", "0x1", "0x3"}, [3]string{"work", "0x1", "0x4"})
	a, b := &jsonreport.Report{Threads: []jsonreport.Thread{idle, work}}, &jsonreport.Report{Threads: []jsonreport.Thread{work}}
	c := Compare(a, b)
	if len(c.Threads) != 2 || c.Threads[0].B != nil || c.Threads[1].B == nil || c.Threads[1].A.Frames[1].Function != "work" {
		t.Errorf("%+v", c.Threads)
	}
}
