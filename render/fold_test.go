package render_test

import (
	"bytes"
	"encoding/json"
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
			th.Frames = append(th.Frames, report.Frame{Frame: &unwind.Frame{PC: uint64(c) << 8, Trust: unwind.Certain},
				Location: &symbol.Location{Function: string(c), Entry: uint64(c) << 8}})
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

// TestFoldedList: a list that leaves out turns of recursion is written as the frames are that it stands for, and as JSON with
// every frame, made at once or piece by piece, indented as encoding/json does.
func TestFoldedList(t *testing.T) {
	folded, whole := sample(t), sample(t)
	frame := func(pc, cfa uint64) report.Frame {
		return report.Frame{Frame: &unwind.Frame{PC: pc, CFA: cfa, HasCFA: true, Trust: unwind.Certain}, Location: &symbol.Location{Function: "f", Entry: pc}}
	}
	th := &whole.Threads[0]
	th.Frames = []report.Frame{frame(1, 90)}
	for turn := range uint64(3000) {
		th.Frames = append(th.Frames, frame(2, 110+30*turn), frame(3, 120+30*turn))
	}
	th.Frames = append(th.Frames, frame(2, 110+30*3000), frame(4, 200_000))
	folded.Threads[0].Frames = append(append([]report.Frame{}, th.Frames[:3]...), th.Frames[len(th.Frames)-2:]...)
	folded.Threads[0].Repeats = unwind.Repeats{{At: 3, Period: 2, Turns: 2999, Stride: 30, First: 3}}
	if got, want := render.AppendText(nil, folded, render.Style{}), render.AppendText(nil, whole, render.Style{}); !bytes.Equal(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, usage := range []bool{false, true} {
		style := render.Style{StackUsage: usage}
		var written bytes.Buffer
		if err := render.TextForm().Write(&written, whole, style); err != nil || !bytes.Equal(written.Bytes(), render.AppendText(nil, whole, style)) {
			t.Errorf("usage %v: other text in pieces, %v", usage, err)
		}
		line := render.AppendJSONLine(nil, whole, style)
		if got := render.AppendJSONLine(nil, folded, style); !bytes.Equal(got, line) {
			t.Errorf("usage %v: another line of JSON", usage)
		}
		var indented, pieces bytes.Buffer
		if err := json.Indent(&indented, line, "", " "); err != nil {
			t.Fatal(err)
		}
		if got := render.AppendJSON(nil, folded, style); !bytes.Equal(got, indented.Bytes()) {
			t.Errorf("usage %v: other indented JSON", usage)
		}
		if err := render.JSONForm().Write(&pieces, folded, style); err != nil || !bytes.Equal(pieces.Bytes(), indented.Bytes()) {
			t.Errorf("usage %v: other JSON in pieces, %v", usage, err)
		}
	}
}

// TestListedRecursion: with what was tried for each frame, recursion that the list has whole is written whole; a cycle is looked
// for once, not from each of its frames on.
func TestListedRecursion(t *testing.T) {
	const turns = 200_000
	r := sample(t)
	th := &r.Threads[0]
	th.Frames, th.Tried = make([]report.Frame, turns), make([][]report.Attempt, turns+1)
	for i := range th.Frames {
		th.Frames[i] = report.Frame{Frame: &unwind.Frame{PC: 0x100, Trust: unwind.Certain}, Location: &symbol.Location{Function: "f", Entry: 0x100}}
	}
	if n := bytes.Count(render.AppendText(nil, r, render.Style{}), []byte("\n#")); n != turns {
		t.Errorf("%d frames of %d", n, turns)
	}
}
