package render_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/display"
	"github.com/backsight/backsight/render"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// FuzzReport renders a report all of whose texts are one, which may be anything: text and page have no control characters
// and no marks of text direction, JSON parses, and each member of JSON Lines is a line.
func FuzzReport(f *testing.F) {
	for _, h := range hostile {
		f.Add(h.name, uint64(0x401284))
	}
	f.Add("</script><b>`'\"&\n", ^uint64(0))
	f.Fuzz(func(t *testing.T, text string, number uint64) {
		r := sample(t)
		r.Snapshot.Memory = new(target.Memory)
		r.Crash = new(report.Crash)
		r.Threads[0].Overwritten = new(report.Overwritten)
		r.Threads[0].Tried = make([][]report.Attempt, len(r.Threads[0].Frames)+1)
		filler{text, number}.fill(reflect.ValueOf(r), 0)
		style := render.Style{Title: text, Capture: text, Version: text, Registers: true, StackUsage: true, Modules: true}
		harmless(t, render.AppendText(nil, r, style))
		harmless(t, display.AppendProblems(nil, r))
		harmless(t, []byte(strings.ReplaceAll(page(r, style), "\t", " "))) // source has tabs
		for _, doc := range [][]byte{render.AppendJSON(nil, r, style), render.AppendJSONLine(nil, r, style)} {
			if !json.Valid(doc) {
				t.Errorf("no JSON: %q", doc)
			}
		}
		if line := render.AppendJSONLine(nil, r, style); bytes.Count(line, []byte("\n")) != 1 {
			t.Errorf("no line: %q", line)
		}
	})
}

// filler sets all texts of a value to one, and makes lists that are empty one long.
type filler struct {
	text   string
	number uint64
}

// maxFilled is how deep values lie within one another.
const maxFilled = 12

func (f filler) fill(v reflect.Value, depth int) {
	if !v.CanSet() && v.Kind() != reflect.Pointer || depth > maxFilled {
		return
	}
	switch v.Type() {
	case reflect.TypeFor[*cpu.Arch](), reflect.TypeFor[*image.Image](), reflect.TypeFor[*target.Memory](),
		reflect.TypeFor[cpu.Registers]():
		return
	case reflect.TypeFor[string]():
		v.SetString(f.text)
	case reflect.TypeFor[uint64]():
		if v.Uint() == 0 {
			v.SetUint(f.number)
		}
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			f.fill(v.Elem(), depth+1)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				f.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 && depth < maxFilled && v.CanSet() && v.Type().Elem().Kind() != reflect.Pointer {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			f.fill(v.Index(i), depth+1)
		}
	}
}
