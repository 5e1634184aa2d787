package stackmarks

import (
	"slices"
	"strings"
	"testing"
)

// TestFigures: functions with their stacks and calls, as GCC 12 writes them.
func TestFigures(t *testing.T) {
	list, err := Figures(strings.NewReader(`graph: { title: "a.c"
node: { title: "a.c:inner" label: "inner\na.c:3:5\n16 bytes (static)" }
node: { title: "main" label: "main\na.c:9:5\n48 bytes (dynamic,bounded)" }
edge: { sourcename: "main" targetname: "a.c:inner" label: "a.c:10:3" }
edge: { sourcename: "main" targetname: "a.c:inner" label: "a.c:11:3" }
node: { title: "*__isoc99_sscanf" label: "sscanf\nstdio.h:1:1" shape : ellipse }
edge: { sourcename: "main" targetname: "*__isoc99_sscanf" label: "a.c:12:3" }
node: { title: "__indirect_call" label: "Indirect Call Placeholder" shape : ellipse }
edge: { sourcename: "main" targetname: "__indirect_call" label: "a.c:13:3" }
}
`))
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if f := list[0]; f.Name != "inner" || f.Bytes != 16 || f.Kind != "static" || f.Calls != nil || f.Pointers {
		t.Errorf("%+v", f)
	}
	if f := list[1]; f.Bytes != 48 || f.Kind != "dynamic,bounded" || !slices.Equal(f.Calls, []string{"inner", "__isoc99_sscanf"}) || !f.Pointers {
		t.Errorf("%+v", f)
	}
	if _, err := Figures(strings.NewReader("nothing of the kind")); err == nil {
		t.Error("no error")
	}
}

// TestListing: what objdump names in a function, and in the part of it that stands elsewhere.
func TestListing(t *testing.T) {
	l := readListing(strings.NewReader("0000000000001000 <f>:\n    1000:\tcall   1100 <puts@plt>\n\n0000000000002000 <f.cold>:\n    2000:\tcall   2100 <g>\n"))
	if !l.has("f") || l.has("g") || !l.calls("f", "puts") || !l.calls("f", "g") || l.calls("f", "h") {
		t.Errorf("%q", l)
	}
}
