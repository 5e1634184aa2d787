package render_test

import (
	"testing"

	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
)

// TestLineZero: code that the compiler made of no single line has line 0 of its file, as
// DWARF says it (json_real of a dSYM does); a frame without a file has no line.
func TestLineZero(t *testing.T) {
	r := sample(t)
	frames := r.Threads[0].Frames
	frames[0].Location = &symbol.Location{Function: "json_real", File: "value.c", Inlines: []symbol.Inline{{Function: "f", File: "a.h"}, {Function: "g"}}}
	frames[1].Location = &symbol.Location{Function: "__sys_write"}
	doc := valid(t, render.AppendJSONLine(nil, &report.Report{Snapshot: r.Snapshot, Threads: r.Threads}, render.Style{}))
	got := doc["threads"].([]any)[0].(map[string]any)["frames"].([]any)
	frame := got[0].(map[string]any)
	inlines := frame["inlines"].([]any)
	if frame["line"] != 0.0 || inlines[0].(map[string]any)["line"] != 0.0 || inlines[1].(map[string]any)["line"] != nil {
		t.Errorf("%v", frame)
	}
	if line := got[1].(map[string]any)["line"]; line != nil {
		t.Errorf("without a file: %v", line)
	}
}
