package jitnames

import (
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/backsight/backsight/input"
)

// dump is a log as run-times write it.
type dump struct {
	order binary.AppendByteOrder
	bytes []byte
}

func newDump(order binary.AppendByteOrder) *dump {
	d := &dump{order: order}
	const size = 40
	for _, v := range []uint32{magic, 1, size, 62, 0, 7, 0, 0, 0, 0} {
		d.bytes = order.AppendUint32(d.bytes, v)
	}
	return d
}

func (d *dump) record(kind uint32, body ...any) {
	var b []byte
	for _, v := range body {
		switch v := v.(type) {
		case int:
			b = d.order.AppendUint64(b, uint64(v))
		case string:
			b = append(append(b, v...), 0)
		}
	}
	d.bytes = d.order.AppendUint32(d.order.AppendUint32(d.bytes, kind), uint32(16+8+len(b)))
	d.bytes = append(d.bytes, make([]byte, 8+8)...) // when, process and thread
	d.bytes = append(d.bytes, b...)
}

func (d *dump) load(addr, size, number int, name string) {
	d.record(codeLoad, addr, addr, size, number, name)
}

// TestDump: functions that were made and moved, in both byte orders; unwind information and what is not whole is passed over.
func TestDump(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		d := newDump(order)
		d.load(0x1000, 0x100, 1, "JS:*fib a.js:1")
		d.record(4, 0, 0, 0)
		d.load(0x2000, 0x10, 2, "next")
		d.record(codeMove, 0x1000, 0x1000, 0x3000, 0x80, 1)
		d.record(codeMove, 0x1000, 0x1000, 0x4000, 0x80, 99) // of no function
		d.load(0x5000, 0x10, 3, "cut")
		list, ok := parseDump(t.Context(), d.bytes[:len(d.bytes)-1])
		want := []function{{0x1000, 0x100, "JS:*fib a.js:1"}, {0x2000, 0x10, "next"}, {0x3000, 0x80, "JS:*fib a.js:1"}}
		if !ok || !slices.Equal(list, want) {
			t.Errorf("%v: %v %v", order, list, ok)
		}
	}
	if _, ok := parseDump(t.Context(), []byte("7f00 10 f\n")); ok {
		t.Error("a list of names is a log")
	}
}

// TestMap: numbers with and without 0x, names with spaces; a line without its end is not read.
func TestMap(t *testing.T) {
	text := "7f0010 20 JS:^map node:internal/a 1:2\n0x7f0040 0x8 \tb\nnonsense\n\nffffffffffffffffff 1 c\n7f0050 10 half"
	if got, want := parseMap(t.Context(), []byte(text)), []function{{0x7f0010, 0x20, "JS:^map node:internal/a 1:2"}, {0x7f0040, 8, "\tb"}}; !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestReplaced: of functions at one place the latest counts; at any moment none, unless they are the same.
func TestReplaced(t *testing.T) {
	list := []function{{0x100, 0x40, "old"}, {0x100, 0x10, "new"}, {0x120, 0x10, "old"}, {0x200, 0, "empty"}, {^uint64(0), 2, "behind the end"}}
	for _, c := range []struct {
		addr          uint64
		latest, every string
		entry         uint64
	}{
		{0xff, "", "", 0}, {0x100, "new", "", 0x100}, {0x10f, "new", "", 0x100}, {0x110, "old", "old", 0x100},
		{0x120, "old", "old", 0x120}, {0x13f, "old", "old", 0x100}, {0x140, "", "", 0}, {0x200, "", "", 0}, {0, "", "", 0},
	} {
		latest, _ := newNames(list, false).at(c.addr)
		every, _ := newNames(list, true).at(c.addr)
		if latest.name != c.latest || every.name != c.every || latest.entry != c.entry {
			t.Errorf("%#x: %+v %+v", c.addr, latest, every)
		}
	}
}

// The pieces of names say of each address what the list, looked through from its end, says.
func TestPieces(t *testing.T) {
	var list []function
	for i := range 64 {
		list = append(list, function{uint64(i * 37 % 61), uint64(i * 11 % 17), string(rune('a' + i%5))})
	}
	all := newNames(list, false)
	for addr := range uint64(90) {
		want := ""
		for _, f := range slices.Backward(list) {
			if addr-f.addr < f.size {
				want = f.name
				break
			}
		}
		if got, ok := all.at(addr); got.name != want || ok != (want != "") {
			t.Errorf("%d: %q, not %q", addr, got.name, want)
		}
	}
}

// TestSource: the map and a log that was mapped; both are read again once they have grown.
func TestSource(t *testing.T) {
	dir := t.TempDir()
	d := newDump(binary.LittleEndian)
	d.load(0x2000, 0x10, 1, "logged")
	write := func(name string, data []byte) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("tmp/perf-7.map", []byte("1000 10 listed\n"))
	write("srv/jit-7.dump", d.bytes)
	files := input.NewFiles(input.FileOptions{Sysroots: []string{dir}})
	defer files.Close()
	var s Source
	if s.Mapped("/srv/jit-x.dump") || s.Mapped("/usr/bin/node") || !s.Mapped("/srv/jit-7.dump") {
		t.Error("which files are logs")
	}
	named := func(addr uint64) string {
		name, _, _ := s.Names(t.Context(), files, 7, true)(addr)
		return name
	}
	if a, b, c := named(0x1000), named(0x2008), named(0x3000); a != "listed" || b != "logged" || c != "" {
		t.Errorf("%q %q %q", a, b, c)
	}
	write("tmp/perf-7.map", []byte("1000 10 listed\n3000 1 later\n"))
	if got := named(0x3000); got != "later" {
		t.Errorf("%q", got)
	}
}

// TestNoFile: without files nothing has a name; a file of another user is not believed.
func TestNoFile(t *testing.T) {
	files := input.NewFiles(input.FileOptions{FS: fstest.MapFS{}})
	defer files.Close()
	if name, _, ok := new(Source).Names(t.Context(), files, 7, false)(0x1000); ok {
		t.Error(name)
	}
	if !trustedOwner(0, 1000) || !trustedOwner(1000, 1000) || trustedOwner(1001, 1000) || !trustedOwner(1001, 0) {
		t.Error("who is believed")
	}
}

func FuzzNames(f *testing.F) {
	d := newDump(binary.LittleEndian)
	d.load(0x1000, 0x100, 1, "a")
	d.record(codeMove, 0, 0, 0x1080, 0x100, 1)
	f.Add(d.bytes)
	f.Add([]byte("1000 10 a\n1008 10 b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, ok := parseDump(context.Background(), data)
		if !ok {
			list = parseMap(context.Background(), data)
		}
		for _, anyMoment := range []bool{false, true} {
			all := newNames(list, anyMoment)
			for i := range all {
				if i > 0 && all[i].lo < all[i-1].hi || all[i].lo >= all[i].hi {
					t.Fatalf("pieces overlap: %+v", all)
				}
			}
		}
	})
}
