package tracer

import (
	"strings"
	"testing"
)

const output = `{"step":7,"kind":"leaf","before":"0x1000","regs":{"sp":"0x8000","pc":"0x2000"},"memory":[{"base":"0x7f00","hex":"00ff"}],"chain":[{"ret":"0x1004","cfa":"0x8000","start":"0x2000","signal":false}]}
{"image":"/opt/bin/true","base":"0x40000000"}
`

// TestRead: captures, images and counts are read out of the plugin's output.
func TestRead(t *testing.T) {
	trace, err := read(strings.NewReader(output + `{"steps":90,"odd":1}`))
	if err != nil {
		t.Fatal(err)
	}
	if trace.Steps != 90 || trace.Odd != 1 || len(trace.Captures) != 1 || len(trace.Images) != 1 {
		t.Fatalf("%+v", trace)
	}
	c := trace.Captures[0]
	if c.Step != 7 || c.Kind != "leaf" || c.Before != 0x1000 || c.Regs["pc"] != 0x2000 || string(c.Memory[0].Bytes) != "\x00\xff" || c.Chain[0].Ret != 0x1004 {
		t.Errorf("%+v", c)
	}
	if i := trace.Images[0]; i.Path != "/opt/bin/true" || i.Base != 0x4000_0000 {
		t.Errorf("%+v", i)
	}
}

// TestReadMistaken: captures of a signal whose place turned out to be another are dropped,
// those before the signal are not.
func TestReadMistaken(t *testing.T) {
	trace, err := read(strings.NewReader(`{"step":6,"kind":"signal"}
{"step":7,"kind":"body"}
{"step":8,"kind":"signal"}
{"mistaken":7}
{"steps":90,"odd":0}`))
	if err != nil || len(trace.Captures) != 2 || trace.Captures[1].Step != 7 {
		t.Errorf("%+v, %v", trace, err)
	}
}

// TestReadWithoutEnd: the images are written last, so that a trace without its end
// cannot be scored.
func TestReadWithoutEnd(t *testing.T) {
	for _, s := range []string{"", output, `{"step":7,`} {
		if _, err := read(strings.NewReader(s)); err == nil {
			t.Errorf("no error for %q", s)
		}
	}
}
