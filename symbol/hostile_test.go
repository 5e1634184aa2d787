package symbol_test

import (
	"bytes"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/backsight/backsight/symbol"
)

// unitOf is .debug_info of one unit for text, whose line table is at 0; body stands in
// it from offset 31 on.
func unitOf(body b) sections {
	unit := b{}.u16(5).u8(1, 8).u32(0).u8(1).cstring("").cstring("").u64(text).u32(0x1000).u32(0)
	return sections{".debug_abbrev": abbrev, ".debug_info": b{}.sized(append(unit, body...))}
}

// TestRowsAreNotKept: every byte of a line number program can be a row. What is kept of
// a table is far less than the table, and each row is found.
func TestRowsAreNotKept(t *testing.T) {
	const next = 13 + 14*1 - (-5) + 1 // opcode_base + line_range × 1 address - line_base + 1 line
	const rows = 0xf00
	s := unitOf(nil)
	head := b{}.u8(1, 1, 1, 0xfb, 14, 13).u8(0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
	head = head.u8(1, 1, 0x08, 1).cstring("/src").u8(1, 1, 0x08, 1).cstring("main.c")
	program := b{}.u8(4, 0, 0, 9, 2).u64(text)
	program = append(program, bytes.Repeat([]byte{next}, rows)...)
	program = append(program, bytes.Repeat([]byte{1}, 4<<20)...) // copies of the last
	program = program.u8(2, 1, 0, 1, 1)
	s[".debug_line"] = b{}.sized(append(b{}.u16(5).u8(8, 0).sized(head), program...))

	img := fileOf(t, s)
	var names symbol.Symbolizer
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, n := range []int{1, 2, 1023, 1024, 1025, 2048, rows} {
		if l := names.Lookup(of(img), text+uint64(n)); l.Line != n+1 {
			t.Errorf("row %d: line %d", n, l.Line)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc - before.HeapAlloc); n > 3<<19 {
		t.Errorf("%d bytes are kept of a table of %d", n, len(program))
	}
	runtime.KeepAlive(img)
}

// TestInlinesAreBounded: where calls are inlined too deeply to be anybody's, the place
// of the outermost is told, none of theirs, and the answer says so.
func TestInlinesAreBounded(t *testing.T) {
	body := b{}.u8(3).cstring("inner").u8(2).cstring("outer").u64(text).u32(0x100)
	body = append(body, bytes.Repeat(b{}.u8(4).u32(31).u64(text).u32(0x100).u8(0, 21), 100_000)...)
	s := unitOf(body)
	s[".debug_line"] = lines()
	img := fileOf(t, s)
	var names symbol.Symbolizer
	if got, want := describe(names.Lookup(of(img), text+0x18)), "outer@1000 /src/main.c:21"; got != want {
		t.Errorf("%.200s, want %s", got, want)
	}
	if err := names.Prepare(t.Context(), all(img)); err == nil || !strings.Contains(err.Error(), "more than 256 calls inlined in one another") {
		t.Errorf("error %v", err)
	}
}

// TestWorkIsBounded: entries whose attributes take no bytes cost more than a file's size can pay for. They are read
// as far as that goes, once: the addresses of the function have an answer, which says that calls are missing.
func TestWorkIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("long, in one goroutine")
	}
	const external, flagPresent, flags = 0x3f, 0x19, 15
	body := b{}.u8(2).cstring("outer").u64(text).u32(0x1000)
	s := unitOf(append(body, bytes.Repeat([]byte{6}, 2<<20)...))
	block := append(b{}.u8(6, 0x0b, 1), bytes.Repeat([]byte{external, flagPresent}, flags)...)
	s[".debug_abbrev"] = slices.Concat(abbrev[:len(abbrev)-1], block, b{0, 0, 0})
	img := fileOf(t, s)
	var names symbol.Symbolizer
	for i := range uint64(10) {
		if l := names.Lookup(of(img), text+i); l.Function != "outer" || l.Line != 0 {
			t.Fatalf("address %d: %v", i, l)
		}
	}
	if err := names.Prepare(t.Context(), all(img)); err == nil || !strings.Contains(err.Error(), ".debug_info at 0x") {
		t.Errorf("error %v", err)
	}
}

// TestTablesAreGivenUp: two functions whose tables do not fit into memory together are read anew when they are asked
// for again, and nothing is missing.
func TestTablesAreGivenUp(t *testing.T) {
	const calls, each = 100_000, 0x100
	body := b{}.u8(3).cstring("inner")
	for f := range uint64(2) {
		body = body.u8(2).cstring("outer").u64(text + each*f).u32(each)
		for i := range uint64(calls) {
			body = body.u8(4).u32(31).u64(text+each*f+i%each).u32(1).u8(0, byte(f), 0)
		}
		body = body.u8(0)
	}
	img := fileOf(t, unitOf(body))
	var names symbol.Symbolizer
	for i := range uint64(4) {
		l := names.Lookup(of(img), text+each*(i%2)+i)
		if len(l.Inlines) != 1 || l.Inlines[0].Function != "inner" || l.Line != int(i%2) {
			t.Errorf("%+v", l)
		}
	}
	if err := names.Prepare(t.Context(), all(img)); err != nil {
		t.Error(err)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if m.HeapAlloc > 64<<20 {
		t.Errorf("%d bytes are kept", m.HeapAlloc)
	}
	runtime.KeepAlive(img)
}

// TestAnswersAreComplete: of honest files nothing is left out.
func TestAnswersAreComplete(t *testing.T) {
	img := fileOf(t, handMade())
	var names symbol.Symbolizer
	if err := names.Prepare(t.Context(), all(img)); err != nil {
		t.Error(err)
	}
}
