package render_test

import (
	"testing"

	"github.com/backsight/backsight/internal/display"
)

// TestProblems: a compiler's messages, one for each frame that has a line; of a program without
// lines one that names the binary.
func TestProblems(t *testing.T) {
	r := sample(t)
	th := &r.Threads[0]
	for i := range th.Frames {
		th.Frames[i].File, th.Frames[i].Line = "", 0
	}
	if got, want := string(display.AppendProblems(nil, r)), "firmware.elf: error: SIGSEGV in "+th.Frames[0].Function+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	th.Frames[0].File, th.Frames[0].Line = "fw.c", 54
	th.Frames[1].File, th.Frames[1].Line = "fw.c", 60
	if got, want := string(display.AppendProblems(nil, r)), "fw.c:54: error: SIGSEGV in "+th.Frames[0].Function+"\nfw.c:60: note: called from "+th.Frames[1].Function+"\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	th.Crashed = false
	if got := display.AppendProblems(nil, r); len(got) != 0 {
		t.Errorf("%q of a thread that did not crash", got)
	}
}
