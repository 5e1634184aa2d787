package jitnames

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/x86"
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

// record adds a record: numbers of 8 bytes, names, bytes.
func (d *dump) record(kind uint32, time uint64, body ...any) {
	var b []byte
	for _, v := range body {
		switch v := v.(type) {
		case int:
			b = d.order.AppendUint64(b, uint64(v))
		case string:
			b = append(append(b, v...), 0)
		case []byte:
			b = append(b, v...)
		}
	}
	d.bytes = d.order.AppendUint32(d.order.AppendUint32(d.bytes, kind), uint32(16+len(b)))
	d.bytes = append(d.order.AppendUint64(d.bytes, time), b...)
}

// load adds a function whose code is one byte over and over.
func (d *dump) load(addr, size, number int, name string) {
	d.loadAt(1, addr, size, number, name, 0xc3)
}

func (d *dump) loadAt(time uint64, addr, size, number int, name string, code byte) {
	d.record(codeLoad, time, 0, addr, addr, size, number, name, bytes.Repeat([]byte{code}, size))
}

// lines adds one line of the next function.
func (d *dump) lines(addr, at, line int, file string) {
	d.record(codeDebug, 1, addr, 1, at, d.order.AppendUint32(nil, uint32(line)), make([]byte, 4), file)
}

// frames adds .eh_frame and .eh_frame_hdr of the next function.
func (d *dump) frames(frames, header []byte) {
	d.record(codeUnwinding, 1, len(frames)+len(header), len(header), 0, frames, header)
}

// placed are functions without what a log has besides.
func placed(list []*function) (out []function) {
	for _, f := range list {
		out = append(out, function{addr: f.addr, size: f.size, name: f.name})
	}
	return out
}

// TestDump: functions that were made and moved, in both byte orders; what is not whole is passed over.
func TestDump(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		d := newDump(order)
		d.load(0x1000, 0x100, 1, "JS:*fib a.js:1")
		d.record(codeUnwinding, 0, 0, 0)
		d.load(0x2000, 0x10, 2, "next")
		d.record(codeMove, 1, 0, 0x1000, 0x1000, 0x3000, 0x80, 1)
		d.record(codeMove, 1, 0, 0x1000, 0x1000, 0x4000, 0x80, 99) // of no function
		d.load(0x5000, 0x10, 3, "cut")
		list, ok := parseDump(t.Context(), "jit-7.dump", d.bytes[:len(d.bytes)-1])
		want := []function{{addr: 0x1000, size: 0x100, name: "JS:*fib a.js:1"}, {addr: 0x2000, size: 0x10, name: "next"}, {addr: 0x3000, size: 0x80, name: "JS:*fib a.js:1"}}
		if got := placed(list); !ok || !slices.Equal(got, want) {
			t.Errorf("%v: %v %v", order, got, ok)
		}
	}
	if _, ok := parseDump(t.Context(), "perf-7.map", []byte("7f00 10 f\n")); ok {
		t.Error("a list of names is a log")
	}
}

// TestMap: numbers with and without 0x, names with spaces; a line without its end is not read.
func TestMap(t *testing.T) {
	text := "7f0010 20 JS:^map node:internal/a 1:2\n0x7f0040 0x8 \tb\nnonsense\n\nffffffffffffffffff 1 c\n7f0050 10 half"
	want := []function{{addr: 0x7f0010, size: 0x20, name: "JS:^map node:internal/a 1:2"}, {addr: 0x7f0040, size: 8, name: "\tb"}}
	if got := placed(parseMap(t.Context(), []byte(text))); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

// TestReplaced: of functions at one place the latest counts; at any moment none, unless they are the same.
func TestReplaced(t *testing.T) {
	x := newIndex([]*function{{addr: 0x100, size: 0x40, name: "old"}, {addr: 0x100, size: 0x10, name: "new"}, {addr: 0x120, size: 0x10, name: "old"},
		{addr: 0x200, name: "empty"}, {addr: ^uint64(0), size: 2, name: "behind the end"}})
	for _, c := range []struct {
		addr          uint64
		latest, every string
		entry         uint64
	}{
		{0xff, "", "", 0}, {0x100, "new", "", 0x100}, {0x10f, "new", "", 0x100}, {0x110, "old", "old", 0x100},
		{0x120, "old", "old", 0x120}, {0x13f, "old", "old", 0x100}, {0x140, "", "", 0}, {0x200, "", "", 0}, {0, "", "", 0},
	} {
		latest, every := cmp.Or(x.named(c.addr, false), &function{}), cmp.Or(x.named(c.addr, true), &function{})
		if latest.name != c.latest || every.name != c.every || latest.addr != c.entry {
			t.Errorf("%#x: %+v %+v", c.addr, latest, every)
		}
	}
}

// The pieces of an index say of each address what the list, looked through from its end, says.
func TestPieces(t *testing.T) {
	var list []*function
	for i := range 64 {
		list = append(list, &function{addr: uint64(i * 37 % 61), size: uint64(i * 11 % 17), name: string(rune('a' + i%5))})
	}
	x := newIndex(list)
	for addr := range uint64(90) {
		want := &function{}
		for _, f := range slices.Backward(list) {
			if addr-f.addr < f.size {
				want = f
				break
			}
		}
		if got := cmp.Or(x.named(addr, false), &function{}); got.name != want.name {
			t.Errorf("%d: %q, not %q", addr, got.name, want.name)
		}
	}
}

// TestCrowded: where more functions lie than are looked at, the latest are known.
func TestCrowded(t *testing.T) {
	var list []*function
	for i := range uint64(2 * maxOpen) {
		list = append(list, &function{addr: 0x1000 - i%8, size: 0x1000 - i, name: string(rune('a' + i%26))})
	}
	x := newIndex(list)
	if got := x.named(0x1100, false); got != list[len(list)-1] {
		t.Errorf("%+v", got)
	}
	for _, p := range x.pieces {
		if len(p.which) > maxKept {
			t.Fatalf("%d functions at %#x", len(p.which), p.lo)
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

// FuzzNames: pieces do not overlap, and no function is made of more code than the log has.
func FuzzNames(f *testing.F) {
	d := newDump(binary.LittleEndian)
	d.lines(0x1000, 0x1000, 3, "a.js")
	d.frames([]byte("frames"), []byte("header"))
	d.load(0x1000, 0x100, 1, "a")
	d.record(codeMove, 9, 0, 0, 0x1000, 0x1080, 0x100, 1)
	f.Add(d.bytes)
	f.Add([]byte("1000 10 a\n1008 10 b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, ok := parseDump(context.Background(), "", data)
		if !ok {
			list = parseMap(context.Background(), data)
		}
		all := newIndex(list).pieces
		for i := range all {
			if i > 0 && all[i].lo < all[i-1].hi || all[i].lo >= all[i].hi {
				t.Fatalf("pieces overlap: %+v", all)
			}
		}
		c := newCode(list)
		for _, p := range c.pieces {
			made := c.at(p.lo, 1)
			if made == nil {
				continue
			}
			if p.lo < made.addr || made.code.size != made.size || made.code.off+made.size > uint64(len(data)) {
				t.Fatalf("%+v at %#x", made, p.lo)
			}
			cut := func(p part) []byte { return data[p.off : p.off+p.size] }
			img := made.module(x86.Archs()[0], cut(made.code), cut(made.frames), cut(made.lines)).Image
			img.Debug.LineAt(p.lo)
		}
	})
}
