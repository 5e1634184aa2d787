package device

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/backsight/backsight/lab/tracer"
)

// TestJudge: what the program found beside what the emulator saw: two samples of which the reader has
// both whole, GCC's unwinder one, and the scan neither; a chain of the handler comes before.
func TestJudge(t *testing.T) {
	chain := []tracer.Activation{{Ret: 0x9000}, {Ret: 0x100, Signal: true}, {Ret: 0x200}, {Ret: 0x300}}
	trace := &tracer.Trace{}
	for sample := range 2 {
		for way, steps := range [][2]int{{10, 12}, {20, 82}, {90, 192}, {200, 262}} {
			for end, step := range steps {
				trace.Marks = append(trace.Marks, tracer.Mark{Number: (sample*len(Ways)+way)*2 + end, Step: step, Chain: chain})
			}
		}
	}
	ways, err := judge(strings.NewReader(`1 tables
0 1 100 200 300 400
0 2 8000 9000 100 200
0 3 100 250 200 300
1 1 100 200 300
1 2 8000 9000 100 200 300
1 3 100
`), trace)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [...]struct{ whole, wrong, least, most int }{1: {2, 0, 15, 20}, 2: {1, 0, 20, 25}, 3: {0, 1, 15, 60}} {
		w := &ways[i]
		if i > 0 && (w.N != 2 || w.Whole != want.whole || w.Wrong != want.wrong || w.Percentile(0) != want.least || w.Percentile(1) != want.most) {
			t.Errorf("%s: %+v, want %+v", Ways[i], *w, want)
		}
	}
}

// TestWalks: within a running program, at whatever instruction a signal stops it, the reader's chain is
// the true one, and a scan's is not. Few of the emulator's chains are wrong themselves, where it cannot tell
// which instruction a signal interrupted: GCC's unwinder contradicts these as well.
func TestWalks(t *testing.T) {
	if os.Getenv("BACKSIGHT_LONG") == "" {
		t.Skip("the table of a static program takes half a minute; BACKSIGHT_LONG=1")
	}
	for _, m := range Machines() {
		if m.Name != "armt2" && m.Name != "x86_64" {
			continue
		}
		for _, tool := range []string{m.Compiler[0], m.Emulator[0], tracer.Compiler} {
			if _, err := exec.LookPath(tool); err != nil {
				t.Skip(err)
			}
		}
		ways, err := Walks(t.Context(), &m, "../../device", t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		reader, gcc, scan := ways[1], ways[2], ways[3]
		told := reader.N - gcc.Wrong // chains that the emulator has right; on a busy machine there are fewer
		if reader.N < 100 || gcc.Wrong > reader.N/10 || reader.Whole < told*97/100 || reader.Wrong > gcc.Wrong || scan.Wrong == 0 {
			t.Errorf("%s: the reader %d walks, %d whole, %d wrong; GCC %d wrong; a scan %d wrong", m.Name, reader.N, reader.Whole, reader.Wrong, gcc.Wrong, scan.Wrong)
		}
	}
}
