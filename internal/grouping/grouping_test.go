package grouping

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/jsonreport"
)

// chain is a signature of functions, innermost first; "word:1,2" refers to things 1 and 2 and has no name where word is "".
func chain(exact, stable string, whole bool, functions ...string) *jsonreport.Signature {
	s := &jsonreport.Signature{Version: 1, Class: "SIGSEGV read", Title: "SIGSEGV in " + strings.Join(functions, " ← "), Exact: exact, Stable: stable, Whole: whole}
	for i, f := range functions {
		name, things, _ := strings.Cut(f, ":")
		signed := jsonreport.Signed{Frame: i, Module: "app", Start: fmt.Sprintf("0x%x", 0x1000*(i+1)), Function: name, Sure: true}
		for thing := range strings.SplitSeq(things, ",") {
			var n uint32
			if _, err := fmt.Sscan(thing, &n); err == nil {
				signed.Named = append(signed.Named, n)
			}
		}
		s.Frames = append(s.Frames, signed)
	}
	return s
}

// TestAdd: why crashes are together, in the order in which keys are asked.
func TestAdd(t *testing.T) {
	var g Groups
	for _, c := range []struct {
		s     *jsonreport.Signature
		group int
		why   string
	}{
		{chain("e1", "s1", true, "word", "on_route", "pack", "main"), 0, ""},
		{chain("e1", "s1", true, "word", "on_route", "pack", "main"), 0, "the same place of the same build"},
		{chain("e2", "s1", true, "word", "on_route", "pack", "main"), 0, "the same functions in another build"},
		{chain("e3", "s3", false, "word", "on_route"), 0, "a shorter chain with the same 2 functions"},
		{chain("e4", "s4", true, "word", "on_route", "pack_v2", "main"), 0, "3 of 4 functions alike: word ← on_route ← main"},
		{chain("e5", "s5", true, "other", "on_route", "pack", "main"), 1, ""},
		{chain("e6", "s6", true, ":1,2,3,4", ":7,8,9"), 2, ""},
		{chain("e7", "s7", true, ":1,2,15,16", ":7,8,9"), 3, ""},
		{chain("e8", "s8", true, ":1,2,3,4,6", ":7,8,9"), 2, "2 of 2 functions alike: app+0x1000 (80 %) ← app+0x2000"},
		{chain("e9", "s9", false, "word"), 4, ""}, // one function says too little
	} {
		to := g.Add(Crash{c.s.Exact, c.s})
		if m := to.Members[len(to.Members)-1]; to != g.List[c.group] || m.Why != c.why {
			t.Errorf("%s is in group %q: %q", c.s.Exact, to.Title, m.Why)
		}
	}
}

// What hit the program decides, whatever the functions.
func TestOtherSignal(t *testing.T) {
	var g Groups
	g.Add(Crash{"a", chain("e1", "s1", true, "word", "on_route", "pack", "main")})
	other := chain("e2", "s2", true, "word", "on_route", "pack", "main")
	other.Class = "SIGABRT abort"
	if g.Add(Crash{"b", other}); len(g.List) != 2 {
		t.Errorf("%d groups", len(g.List))
	}
}

// Groups that were kept as JSON are gone on with, and what stands there in their place harms nothing.
func TestKept(t *testing.T) {
	var g, again Groups
	g.Add(Crash{"a", chain("e1", "s1", true, "word:1,2", "on_route")})
	b, err := json.Marshal(&g)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*jsonreport.Signature{chain("e1", "x", true, "f"), chain("x", "s1", true, "f"), chain("y", "y", false, "word", "on_route")} {
		again.Add(Crash{s.Exact, s})
	}
	if len(again.List) != 1 || len(again.List[0].Members) != 4 {
		t.Errorf("%d groups", len(again.List))
	}
	for _, hostile := range []string{`{"groups":[null,{}]}`, `{"groups":[{"signature":{}}]}`} {
		var g Groups
		if err := json.Unmarshal([]byte(hostile), &g); err != nil {
			t.Error(err)
		}
		g.Add(Crash{"a", chain("e1", "s1", true, "word")})
	}
}
