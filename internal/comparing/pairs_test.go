package comparing

import (
	"compress/gzip"
	"os"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/jsonreport"
)

// marks are what stands in front of a row's name below.
var marks = map[Relation]string{SamePlace: "=", SameFunction: "~", Alike: "≈", Inlined: "i", OnlyA: "-", OnlyB: "+"}

// Ten pairs of crashes of the laboratory's programs (lab/signatures/programs), of which the difference is known: by whom the bug was
// reached, by which compiler the program was built, whether it was stripped, which bug it is. What is told of the frames up to main.
func TestPairsOfTheLaboratory(t *testing.T) {
	for i, c := range []struct{ difference, want, facts string }{
		{"another way to the bug", "= route_cost, = bug, - on_packet, + on_timer, ~ main", ""},
		{"stripped", "= route_cost, = bug, = on_packet, = main", ""},
		{"a build with a change elsewhere", "= reply, = bug, = on_packet, ~ main", "build of relay"},
		{"that build, stripped", "~ reply, ~ bug, ~ on_packet, ~ main", "build of relay"},
		{"another compiler, stripped", "= __pthread_kill_implementation, = raise, = abort, ≈ check_len, ~ bug, ~ on_packet, ≈ main", "build of relay"},
		{"another bug", "- route_cost, + reply, ~ bug, = on_packet, = main", "address"},
		{"a comparison within a sort, and a division", "- compare, - msort_with_tmp.part.0, - msort_with_tmp.part.0, - qsort_r, - sorted, + share, ~ bug, = on_packet, = main",
			"signal, address, cause, access"},
		{"an abort, and one by way of another function", "= __pthread_kill_implementation, = raise, = abort, - check_len, + fatal, + no_route, ~ bug, = on_packet, = main", ""},
		{"two deadlocks, of one thread and of two", "= __lll_lock_wait, = pthread_mutex_lock, ~ command, = interactive, = main", ""},
		{"a batch, and another build", "= command, - interactive, + batch, + batch, + batch, + batch, + batch, + batch, + from_file, ~ main", "address, build of ledger"},
	} {
		list := laboratory(t)
		comparison := Compare(&list[2*i], &list[2*i+1])
		var rows, facts []string
		for _, r := range comparison.Threads[0].Rows {
			f := r.A
			if f == nil {
				f = r.B
			}
			rows = append(rows, marks[r.Relation]+" "+Name(f))
			if Name(f) == "main" {
				break
			}
		}
		for _, f := range comparison.Facts {
			if f.A != f.B {
				facts = append(facts, f.Name)
			}
		}
		if got := strings.Join(rows, ", "); got != c.want {
			t.Errorf("%s: %s", c.difference, got)
		}
		if got := strings.Join(facts, ", "); got != c.facts {
			t.Errorf("%s: %s differ", c.difference, got)
		}
	}
}

// laboratory are reports, two for each pair.
func laboratory(t *testing.T) (list []jsonreport.Report) {
	t.Helper()
	f, err := os.Open("testdata/pairs.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	err = jsonreport.Each(t.Context(), in, func(r *jsonreport.Report) error {
		list = append(list, *r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}
