package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// pool is a report of a thread that is elsewhere, of workers that all wait at one place, and of the thread that crashed.
func pool(t testing.TB, workers int) *report.Report {
	r := sample(t)
	crashed, snap := r.Threads[0], r.Snapshot
	at := func(id int, name string, pc uint64) report.Thread {
		f := *crashed.Frames[3].Frame
		f.PC = pc
		return report.Thread{Thread: &target.Thread{ID: id, Name: name}, Stop: unwind.Stop{Reason: unwind.StopRoot},
			Frames: []report.Frame{{Frame: &f, Location: crashed.Frames[3].Location}}}
	}
	r.Threads = []report.Thread{at(2, "main loop", 0x400100)}
	for i := range workers {
		r.Threads = append(r.Threads, at(100+i, fmt.Sprintf("worker/%d", i), 0x400200))
	}
	r.Threads = append(r.Threads, crashed)
	snap.Threads = nil
	for i := range r.Threads {
		snap.Threads = append(snap.Threads, *r.Threads[i].Thread)
	}
	return r
}

// TestAlike: the thread that crashed stands first, and forty workers that wait at one place stand once. JSON has them all, in their order.
func TestAlike(t *testing.T) {
	r := pool(t, 40)
	var heads []string
	for line := range strings.Lines(string(render.AppendText(nil, r, render.Style{}))) {
		if strings.HasPrefix(line, "Thread") {
			heads = append(heads, strings.TrimSpace(line))
		}
	}
	want := `Thread 1 "main" (crashed): SIGSEGV at 0x00000000; Thread 2 "main loop"; ` +
		`Threads 100, 101, 102, 103, 104, 105, 106, 107 and 32 others "worker/0", "worker/1", "worker/2" …`
	if got := strings.Join(heads, "; "); got != want {
		t.Errorf("threads\n%s\nwant\n%s", got, want)
	}
	if n := strings.Count(string(render.AppendJSON(nil, r, render.Style{})), `"thread_id"`); n != 42 {
		t.Errorf("%d threads in JSON, not 42", n)
	}
}

// TestNotAlike: what differs between threads is shown of each: their registers, reports of a log.
func TestNotAlike(t *testing.T) {
	r := pool(t, 2)
	if n := strings.Count(string(render.AppendText(nil, r, render.Style{Registers: true})), "Thread"); n != 4 {
		t.Errorf("with registers %d threads, not 4", n)
	}
	for i := range r.Threads {
		r.Threads[i].Memory = new(target.Memory)
	}
	if text := string(render.AppendText(nil, r, render.Style{})); strings.Count(text, "Thread") != 4 || !strings.HasPrefix(text, `Thread 2 "main loop"`) {
		t.Errorf("reports of a log are not each told of in their order:\n%s", text)
	}
}

// TestLegend: what the marks mean that were used, and no others, in lines as wide as the terminal.
func TestLegend(t *testing.T) {
	text := string(render.AppendText(nil, sample(t), render.Style{Legend: true, Width: 60}))
	_, legend, _ := strings.Cut(text, "\n\n")
	for line := range strings.Lines(legend) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 60 {
			t.Errorf("wider than 60 columns: %q", line)
		}
	}
	words := strings.Join(strings.Fields(legend), " ")
	for _, want := range []string{"[code] by analysis of the machine code", "[scan] by a search", "likely: ", "? a guess", "stop unreadable: memory that", "help marks"} {
		if !strings.Contains(words, want) {
			t.Errorf("the legend lacks %q:\n%s", want, legend)
		}
	}
	if strings.Contains(words, "[cfi]") || strings.Contains(words, "no-rule") {
		t.Errorf("marks that were not used:\n%s", legend)
	}
}

// TestMarks: the table has every method, stop and check.
func TestMarks(t *testing.T) {
	table := string(typeset.AppendMarks(nil, 80))
	names := (^unwind.Checks(0)).Names()
	for _, m := range unwind.Methods() {
		names = append(names, m.String())
	}
	for _, r := range unwind.StopReasons() {
		names = append(names, r.String())
	}
	for _, name := range names {
		if !strings.Contains(table, "\n  "+name+" ") {
			t.Errorf("no line of %s", name)
		}
	}
}

// TestArguments: in the frame's line, those of an inlined function in its own; what is not known is a question mark.
func TestArguments(t *testing.T) {
	r := sample(t)
	d := r.Threads[0].Frames[1].Detailed()
	d.Variables = []report.Variable{{Name: "n", Argument: true, Value: "12"}, {Name: "s", Argument: true, Missing: "optimised out"},
		{Name: "i", Value: "3"}, {Name: "p", Argument: true, Inlined: "leaf", Value: strings.Repeat("x", 50)}}
	text := string(render.AppendText(nil, r, render.Style{Arguments: true}))
	for _, want := range []string{"mybacktrace+0x28(n=12, s=?) ", "leaf(p=" + strings.Repeat("x", 39) + "…) (inlined)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "i = 3") {
		t.Errorf("a local variable in\n%s", text)
	}
}

// TestWrapped: on a terminal, sentences below a title keep their words whole; elsewhere each is a line.
func TestWrapped(t *testing.T) {
	r := sample(t)
	r.Threads[0].Reasons = []string{"a function pointer that points to no code was called; where it came from, the code does not tell"}
	const whole, wrapped = "\n    a function pointer that points to no code was called; where it came from, the code does not tell\n",
		"\n    a function pointer that points to no code was called;\n    where it came from, the code does not tell\n"
	if text := string(render.AppendText(nil, r, render.Style{})); !strings.Contains(text, whole) {
		t.Errorf("no %q in\n%s", whole, text)
	}
	if text := string(render.AppendText(nil, r, render.Style{Width: 60})); !strings.Contains(text, wrapped) {
		t.Errorf("no %q in\n%s", wrapped, text)
	}
}
