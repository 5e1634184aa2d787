package macho

import (
	"maps"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/machofile"
	"github.com/backsight/backsight/internal/synth/meter"
)

// TestImports: the words that dyld fills in, by each of the ways to say which.
func TestImports(t *testing.T) {
	bind := append([]byte{bindSymbol}, "_abort\x00"...)
	bind = append(bind, bindSegment|2, 8, bindDo, bindSymbol)
	bind = append(append(bind, "_exit\x00"...), bindDoAddAddrImm|1, bindDo, bindDone)
	chain := append(machofile.U32(0, 28, 0, 0, 2, 1, 0), machofile.U32(4, 0, 0, 20, 0)...) // header; dyld_chained_starts_in_image: the third of four segments
	chain = append(chain, machofile.U32(24, machofile.Page|ptr64<<16)...)                  // size, page_size, pointer_format
	chain = append(chain, machofile.U64(2*machofile.Page)...)                              // segment_offset
	chain = append(chain, machofile.U32(0, 1|8<<16)...)                                    // max_valid_pointer, page_count, page_start
	at := uint32(len(chain))                                                               // imports
	chain = append(chain, machofile.U32(1<<9, 8<<9)...)                                    // names at 1 and 8
	chain = append(chain, "\x00_abort\x00_exit\x00"...)                                    //
	copy(chain[8:], machofile.U32(at, at+8))                                               // imports_offset, symbols_offset
	words := machofile.U64(0, 1<<63|2<<51, machofile.TextAt+4|uint64(4)<<51, 0, 1<<63|1)   // a bind, a rebase, a gap, a bind
	for name, b := range map[string]machofile.File{
		"indirect symbols": {Data: []machofile.Section{{Name: "__got", Data: make([]byte, 40), Flags: sNonLazyPointers}},
			Symbols:  []machofile.Symbol{sym("_abort", nExt, 0, 0), sym("_exit", nExt, 0, 0)},
			Linkedit: []machofile.Table{{Command: lcDysymtab, Data: machofile.U32(indirectLocal, 0, 1, indirectAbs, 1)}}},
		"bind opcodes":   {Data: []machofile.Section{{Name: "__got", Data: make([]byte, 40), Flags: 0}}, Linkedit: []machofile.Table{{Command: lcDyldInfo | lcReqDyld, Data: bind}}},
		"chained fixups": {Data: []machofile.Section{{Name: "__got", Data: words, Flags: 0}}, Linkedit: []machofile.Table{{Command: lcChainedFixups, Data: chain}}},
	} {
		b.Text = []machofile.Section{machofile.Code("__text", 0x20)}
		img := parse(t, b.Bytes())
		want := map[uint64]string{0: "", 8: "abort", 32: "exit", 12: ""}
		if name == "bind opcodes" {
			want = map[uint64]string{0: "", 8: "abort", 16: "exit", 32: "exit"}
		} else if name == "indirect symbols" {
			want[16] = "exit"
		}
		for off, want := range want {
			if got, ok := img.Import(machofile.DataAt + off); got != want || ok != (want != "") {
				t.Errorf("%s: the word at %d is bound to %q, want %q", name, off, got, want)
			}
		}
	}
}

// TestRebased: the words that move with the image.
func TestRebased(t *testing.T) {
	b := machofile.File{Flags: mhPIE, Text: []machofile.Section{machofile.Code("__text", 0x20)}, Data: []machofile.Section{{Name: "__data", Data: machofile.U64(1, machofile.TextAt, 2, machofile.TextAt+8, 3, machofile.TextAt+16), Flags: 0}},
		Linkedit: []machofile.Table{{Command: lcDyldInfo, Data: []byte{rebaseSegment | 2, 8, rebaseTimesSkipped, 3, 8, rebaseDone}}}}
	var got []uint64
	all := parse(t, b.Bytes()).Rebased(func(v uint64) bool { got = append(got, v-machofile.TextAt); return true })
	if !all || len(got) != 3 || got[0] != 0 || got[1] != 8 || got[2] != 16 {
		t.Errorf("%#x, all: %t", got, all)
	}
	b.Flags = 0
	if parse(t, b.Bytes()).Rebased(func(uint64) bool { return true }) {
		t.Error("a program that is loaded where it was linked moves words")
	}
}

// TestThreadedBinds: programs of the first arm64e systems list symbols, and chains refer to them;
// the other words of a chain move with the image.
func TestThreadedBinds(t *testing.T) {
	bind := append([]byte{bindThreaded | threadedTableSize, 2, bindSymbol}, "_abort\x00"...)
	bind = append(append(bind, bindDo, bindSymbol), "_exit\x00"...)
	bind = append(bind, bindDo, bindSegment|2, 8, bindThreaded|threadedApply, bindDone)
	const isBind, next = 1 << 62, 1 << 51
	words := machofile.U64(0, isBind|1|2*next, 0, machofile.TextAt+4|next, isBind)
	f := machofile.File{Flags: mhPIE, Text: []machofile.Section{machofile.Code("__text", 0x20)},
		Data: []machofile.Section{{Name: "__got", Data: words}}, Linkedit: []machofile.Table{{Command: lcDyldInfo | lcReqDyld, Data: bind}}}
	img := parse(t, f.Bytes())
	for off, want := range map[uint64]string{0: "", 8: "exit", 16: "", 24: "", 32: "abort"} {
		if got, _ := img.Import(machofile.DataAt + off); got != want {
			t.Errorf("the word at %d is bound to %q, want %q", off, got, want)
		}
	}
	var moved []uint64
	if all := img.Rebased(func(v uint64) bool { moved = append(moved, v); return true }); !all || len(moved) != 1 || moved[0] != machofile.TextAt+4 {
		t.Errorf("%#x move, all: %t", moved, all)
	}
}

// TestSeveralChainsInAPage: a page of a 32-bit format may have several chains.
func TestSeveralChainsInAPage(t *testing.T) {
	f := file{header: header{}, layout: layout{segments: []segment{{addr: 0x1000, size: 0x1000, file: extent{0, 0x1000}}}}, data: make([]byte, 0x1000)}
	copy(f.data[0x10:], machofile.U32(0x1004|1<<26, 1<<31|1)) // a rebase, a bind
	copy(f.data[0x80:], machofile.U32(1<<31))                 // a bind
	body := append(machofile.U32(0, 28, 64, 72, 2, 1, 0), machofile.U32(1, 8)...)
	body = append(body, machofile.U32(0, 0x1000|ptr32<<16, 0, 0, 0)...)                    // size, page_size, pointer_format, segment_offset, max_valid_pointer
	body = append(body, machofile.U32(1|(startMulti|1)<<16, 0x10|(startLast|0x80)<<16)...) // one page: its starts are those from index 1 on
	body = append(body, machofile.U32(1<<9, 4<<9)...)
	body = append(body, "\x00_a\x00_b\x00"...)
	f.fixups = extent{uint64(len(f.data)), uint64(len(body))}
	f.data = append(f.data, body...)
	c := f.chained()
	got := map[uint64]string{}
	for addr := uint64(0x1000); addr < 0x1100; addr += 4 {
		if name, ok := c.bindAt(addr); ok {
			got[addr] = name
		}
	}
	if want := map[uint64]string{0x1014: "b", 0x1080: "a"}; !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestBindsShareNames: the words that are bound to one symbol share its name, however long.
func TestBindsShareNames(t *testing.T) {
	const long, loaded = 2000, 1 << 20
	bind := append([]byte{bindSymbol}, strings.Repeat("n", long)+"\x00"...)
	bind = append(bind, bindSegment|2, 0, bindDoTimesSkipped, 0xff, 0xff, 0xff, 0x7f, 0, bindDone)
	b := machofile.File{Text: []machofile.Section{machofile.Code("__text", 0x20)}, Linkedit: []machofile.Table{{Command: lcDyldInfo | lcReqDyld, Data: bind}}}
	f := parse(t, b.Bytes()).Container().(*container).main
	meter.Allocations(t, loaded/16, func() {
		var all binds
		if words := all.of(f, loaded); len(words) != 2*loaded/8 || len(words[machofile.DataAt+8]) != long {
			t.Errorf("%d words, a name of %d bytes", len(words), len(words[machofile.DataAt+8]))
		}
	})
}
