package stackmarks

import (
	"strings"
	"testing"

	"github.com/backsight/backsight"
)

// TestCompare: equal figures, a dynamic frame that both name, and differences with their reason.
func TestCompare(t *testing.T) {
	list, err := Figures(strings.NewReader("a.c:1:5:same\t16\tstatic\na.c:2:5:vla\t48\tdynamic\na.c:3:5:varied\t24\tstatic\na.c:4:5:wrong\t8\tstatic\na.c:5:5:inlined\t0\tstatic\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := &backsight.StackReport{Functions: []backsight.StackFunction{{Name: "same", Own: 16}, {Name: "vla", Own: 32, Dynamic: true},
		{Name: "varied", Own: 40}, {Name: "wrong", Own: 4}}}
	n, differ := Compare(list, r, "arm")
	if n != 4 || len(differ) != 2 || differ[0].Name != "varied" || differ[0].Why == "" || differ[1].Name != "wrong" || differ[1].Why != "" {
		t.Errorf("%d functions, %+v", n, differ)
	}
	if _, err := Figures(strings.NewReader("nothing of the kind")); err == nil {
		t.Error("no error")
	}
}
