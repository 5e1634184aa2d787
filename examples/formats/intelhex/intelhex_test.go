package intelhex

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

const (
	four = ":0400000001020304F2\n" // bytes 1, 2, 3, 4 at address 0
	next = ":020004000506EF\n"     // 5, 6 behind them
	high = ":020000042000DA\n"     // addresses above 0x20000000
	last = ":00000001FF\n"
)

func parseFile(text string) (*image.Image, error) {
	return image.Parse("f.hex", []byte(text), []image.Format{Format()}, image.Options{Raw: &cpu.Arch{AddrSize: 4}})
}

// TestSegments: records that follow one another make one segment.
func TestSegments(t *testing.T) {
	img, err := parseFile(four + next + high + four + last)
	if err != nil {
		t.Fatal(err)
	}
	s := img.Segments
	if len(s) != 2 || s[0].Size != 6 || string(s[0].Data) != "\x01\x02\x03\x04\x05\x06" || s[1].Addr != 0x20000000 || s[1].Size != 4 {
		t.Errorf("%+v", s)
	}
}

// TestDamaged: an error names where the file is wrong.
func TestDamaged(t *testing.T) {
	for text, want := range map[string]string{
		four:                         "offset 0x14: no end record",
		four + ":04000000010203FFF2": "offset 0x14: damaged record",
		four + "04":                  "offset 0x14: damaged record",
		":00":                        "offset 0x0: damaged record",
	} {
		if _, err := parseFile(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzOpen: whatever the file says, its segments lie in the address space and have no
// more bytes than the file has digits for.
func FuzzOpen(f *testing.F) {
	f.Add(four + next + high + last)
	f.Fuzz(func(t *testing.T, text string) {
		img, err := parseFile(text)
		if err != nil {
			return
		}
		n := 0
		for _, s := range img.Segments {
			n += len(s.Data)
		}
		if 2*n > len(text) {
			t.Errorf("%d bytes out of %d characters", n, len(text))
		}
	})
}
