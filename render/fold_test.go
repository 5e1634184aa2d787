package render_test

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/unwind"
)

// TestFold: a recursion is written once, with how often it repeats; what is around it, and
// repetitions too short to be in the way, stay as they are.
func TestFold(t *testing.T) {
	for _, tt := range []struct {
		name  string
		chain string // a letter is a function
		want  string // the lines' functions; (n) for n repetitions that are left out
	}{
		{"one function", "a" + strings.Repeat("r", 100) + "m", "a r (99) m"},
		{"two functions in turn", "ab" + strings.Repeat("xy", 50) + "m", "a b x y (49) m"},
		{"a leaf of another kind", "lr" + strings.Repeat("qr", 30) + "m", "l r q (29) r m"},
		{"short", "a" + strings.Repeat("r", 19) + "m", "a " + strings.Repeat("r ", 19) + "m"},
		{"two recursions", strings.Repeat("r", 40) + strings.Repeat("s", 40), "r (39) s (39)"},
	} {
		r := sample(t)
		th := &r.Threads[0]
		th.Frames = nil
		for _, c := range tt.chain {
			th.Frames = append(th.Frames, report.Frame{Frame: unwind.Frame{PC: uint64(c) << 8, Trust: unwind.Certain},
				Location: symbol.Location{Function: string(c), Entry: uint64(c) << 8}})
		}
		var got []string
		for line := range strings.Lines(string(render.AppendText(nil, r, render.Style{}))) {
			switch f := strings.Fields(line); {
			case strings.HasPrefix(line, "#"):
				got = append(got, f[2][:1])
			case f[0] == "frames":
				got = append(got, "("+f[len(f)-2]+")")
			}
		}
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, strings.Join(got, " "), tt.want)
		}
	}
}
