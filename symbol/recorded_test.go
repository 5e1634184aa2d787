package symbol_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/image/macho"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// TestRecordedLines: function, file and line of every frame of a stripped Mach-O program, inlined
// ones too, are those that llvm-symbolizer reads out of its dSYM. Some are of line 0.
func TestRecordedLines(t *testing.T) {
	dir := recorded.Shared(t, "inputs", "apple", "dsym")
	img, err := image.Open(filepath.Join(dir, "jansson"), []image.Format{macho.Format()}, image.Options{Archs: x86.Archs()})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	f, err := os.Open(filepath.Join(dir, "lines.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var names symbol.Symbolizer
	m := target.NewModule("jansson", img, 0)
	n := 0
	for lines := bufio.NewScanner(z); lines.Scan(); {
		var snap struct {
			Frames []struct {
				Lookup string
				Lines  []struct {
					Function, File string
					Line           int
				}
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &snap); err != nil {
			t.Fatal(err)
		}
		for _, frame := range snap.Frames {
			addr, err := strconv.ParseUint(frame.Lookup, 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			var want, got []string
			for _, l := range frame.Lines {
				want = append(want, fmt.Sprint(l.Function, " ", l.File, ":", l.Line))
			}
			l := names.Lookup(m, addr)
			for _, in := range append(l.Inlines, symbol.Inline{Function: l.Function, File: l.File, Line: l.Line}) {
				file := filepath.Base(in.File)
				if in.File == "" {
					file = ""
				}
				got = append(got, fmt.Sprint(in.Function, " ", file, ":", in.Line))
			}
			if n++; !slices.Equal(got, want) {
				t.Errorf("%#x: %q, want %q", addr, got, want)
			}
		}
	}
	t.Log(n, "frames")
}
