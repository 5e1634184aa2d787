package render_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

func page(r *report.Report, style render.Style) string {
	return string(typeset.AppendPageTail(render.AppendPage(typeset.AppendPageHead(nil, "Backtraces"), r, style)))
}

// TestPage: every frame with its trust and its evidence, nothing from the network.
func TestPage(t *testing.T) {
	r := sample(t)
	r.Crash = &report.Crash{Signal: "SIGSEGV", Code: "SEGV_MAPERR", Reasons: []string{"the program reads from 0x10 through a pointer that is NULL"}}
	r.Snapshot.Memory = new(target.Memory)
	got := page(r, render.Style{Capture: "core.7"})
	for _, want := range []string{"<h1>core.7</h1>", "through a pointer that is NULL", "hello+0x1c", "hello.c:14", `class="frame guess" data-frame="3"`,
		`title="code, by analysis of the machine code, certain: the address lies in code; a call stands before it"`, "leaf.h:3",
		"stop: unreadable: memory that is needed to go on was not captured", "What the marks mean", "libz.so.1: not found"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
	if regexp.MustCompile(`(?i)https?:|src=|@import|url\(`).MatchString(got) {
		t.Error("the page refers to something outside itself")
	}
}

// TestPageWithoutBinaries: a frame that lies in no binary goes by its address, in the list of frames
// and in the line that sums up the thread.
func TestPageWithoutBinaries(t *testing.T) {
	r := sample(t)
	r.Snapshot.Memory = new(target.Memory)
	f := &r.Threads[0].Frames[0]
	f.Module, f.Location = nil, new(symbol.Location)
	pc := fmt.Sprintf("0x%08x", f.PC)
	got := page(r, render.Style{})
	for _, want := range []string{`<span class="name">` + pc + "<", "4 frames, " + pc + "<"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in\n%s", want, got)
		}
	}
}

// TestPageNamesBinary: a function without a line stands beside the binary that it is in.
func TestPageNamesBinary(t *testing.T) {
	r := sample(t)
	r.Snapshot.Memory = new(target.Memory)
	r.Threads[0].Frames[1].Location = &symbol.Location{Function: "mybacktrace", Entry: 0x400d0c}
	if got, want := page(r, render.Style{}), `<span class="place">in firmware.elf<`; !strings.Contains(got, want) {
		t.Errorf("no %s in\n%s", want, got)
	}
}

// TestPageEscapes: names of a hostile file are text on the page.
func TestPageEscapes(t *testing.T) {
	r := sample(t)
	r.Snapshot.Memory = new(target.Memory)
	const evil = `</style><script>alert(1)</script>` + "\x1b[31m\u202e"
	r.Threads[0].Name = evil
	r.Threads[0].Frames[0].Function = evil
	r.Snapshot.Modules[0].Name = evil
	r.Issues = []target.Issue{{Text: evil}}
	r.Snapshot.Command, r.Snapshot.OS = evil, evil
	r.Crash = &report.Crash{Signal: evil, Code: evil}
	got := page(r, render.Style{Capture: evil})
	if strings.Count(got, "<script>") != 1 || strings.ContainsAny(got, "\x1b\u202e") || strings.Count(got, "</style>") != 1 {
		t.Error("a name from the capture is markup, or moves the text")
	}
}

// TestPageFoldsThreads: threads at the same place are one card.
func TestPageFoldsThreads(t *testing.T) {
	r := sample(t)
	r.Snapshot.Memory = new(target.Memory)
	idle := func(id int) report.Thread {
		return report.Thread{Thread: &target.Thread{ID: id, Name: "worker"}, Frames: r.Threads[0].Frames[1:3]}
	}
	r.Threads = append([]report.Thread{idle(2), idle(3), idle(4)}, r.Threads...)
	got := page(r, render.Style{})
	crashed, workers := strings.Index(got, "Thread 1 main"), strings.Index(got, "Thread 2 worker and 2 alike")
	if crashed < 0 || workers < crashed || strings.Contains(got, "Thread 3") {
		t.Errorf("crashed thread at %d, workers at %d", crashed, workers)
	}
}

// TestPageInPieces: a page of many threads is the same when it is written while it is made.
func TestPageInPieces(t *testing.T) {
	r := sample(t)
	r.Snapshot.Memory = new(target.Memory)
	for id := range 100 {
		frame := *r.Threads[0].Frames[1].Frame
		frame.PC += uint64(id)
		r.Threads = append(r.Threads, report.Thread{Thread: &target.Thread{ID: id}, Frames: []report.Frame{{Frame: &frame, Location: new(symbol.Location)}}})
	}
	pieces := pieceCount{}
	if err := render.PageForm().Write(&pieces, r, render.Style{}); err != nil || pieces.String() != string(render.AppendPage(nil, r, render.Style{})) || pieces.n < 2 {
		t.Errorf("another page in %d pieces, %v", pieces.n, err)
	}
}

// pieceCount counts what it is written by.
type pieceCount struct {
	strings.Builder
	n int
}

func (p *pieceCount) Write(b []byte) (int, error) {
	p.n++
	return p.Builder.Write(b)
}
