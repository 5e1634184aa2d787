package segment_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/tables/segment"
)

var programs = []string{"mips-naked/modules/packer", "x86_64-threads/modules/usr/lib/libc.so.6"}

func open(t *testing.T, b []byte) *image.Image {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	img, err := elf.Open(path, image.Options{Archs: captured.Archs(), NoDebugFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = img.Close() })
	return img
}

// TestAdd: the new file has the table as a section and in memory, and everything else as before.
func TestAdd(t *testing.T) {
	table := bytes.Repeat([]byte("table"), 100)
	for _, name := range programs {
		before, err := os.ReadFile(recorded.Testdata(t, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range []*uint64{nil, new(uint64)} {
			if at != nil {
				*at = 0x7000_0000
			}
			after, err := segment.Add(before, table, at)
			if err != nil {
				t.Fatal(name, err)
			}
			if grown, most := len(after)-len(before), len(table)+8192; grown > most {
				t.Errorf("%s: %d bytes more, want %d at most", name, grown, most)
			}
			was, is := open(t, before), open(t, after)
			for i := range was.Segments {
				s := &was.Segments[i]
				if got := is.Segments.Bytes(s.Addr); len(got) < len(s.Data) || !bytes.Equal(got[:len(s.Data)], s.Data) && s.Addr != was.Segments[0].Addr {
					t.Errorf("%s: the segment at %#x has changed", name, s.Addr)
				}
			}
			sec, ok := is.Sections.Named(".backsight")
			if !ok || !bytes.Equal(sec.Data, table) || at != nil && sec.Addr != *at || !bytes.HasPrefix(is.Segments.Bytes(sec.Addr), table) {
				t.Errorf("%s: section %+v, %t", name, sec, ok)
			}
		}
	}
}

// TestAddWrong: files that no table can be added to.
func TestAddWrong(t *testing.T) {
	program, err := os.ReadFile(recorded.Testdata(t, programs[0]))
	if err != nil {
		t.Fatal(err)
	}
	object := bytes.Clone(program)
	for i := 44; i < 46; i++ {
		object[i] = 0 // e_phnum
	}
	entry := open(t, program).Entry
	for _, c := range []struct {
		file []byte
		at   *uint64
		want string
	}{
		{nil, nil, "no ELF file"}, {object, nil, "not linked"}, {program[:100], nil, "cut short"}, {program, &entry, "overlaps the segment"},
	} {
		if _, err := segment.Add(c.file, []byte("table"), c.at); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

// FuzzAdd: no file brings the writer down.
func FuzzAdd(f *testing.F) {
	program, err := os.ReadFile(recorded.Testdata(f, programs[0]))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(program, uint64(0))
	f.Fuzz(func(t *testing.T, b []byte, at uint64) {
		_, _ = segment.Add(b, []byte("table"), &at)
		_, _ = segment.Add(b, []byte("table"), nil)
	})
}
