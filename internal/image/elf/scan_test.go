package elf

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestScanFindsWhatTheIndexFinds: an image's first lookups go through its tables,
// later ones ask the index. Symbols nest, overlap, lack sizes and share addresses.
func TestScanFindsWhatTheIndexFinds(t *testing.T) {
	for seed := range uint64(300) {
		code := seed % 2 * 0x1000 // firmware begins at address 0
		r := rand.New(rand.NewPCG(seed, 0))
		var list []tsym
		for i := range 1 + r.IntN(12) {
			list = append(list, tsym{
				name: fmt.Sprint("f", i, []string{"", "@V", "@@V", "long"}[r.IntN(4)]), value: code + uint64(8*r.IntN(24)), size: uint64(8 * max(0, r.IntN(12)-3)),
				info: []uint8{globalFunc, localFunc, weakFunc}[r.IntN(3)], shndx: 1,
			})
		}
		indexed := withCode(t, code, build{}, list...)
		for range maxScans {
			indexed.Symbols.At(0)
		}
		for addr := code - min(code, 8); addr < code+0x108; addr += 4 {
			got, found := withCode(t, code, build{}, list...).Symbols.At(addr)
			if want, ok := indexed.Symbols.At(addr); got != want || found != ok {
				t.Fatalf("seed %d, %#x: %+v, %v by a scan; %+v, %v by the index, of\n%+v", seed, addr, got, found, want, ok, list)
			}
		}
		again := withCode(t, code, build{}, list...) // an answer holds for places around, too
		for range 2 * maxScans {
			addr := code + uint64(r.IntN(0x110)) - min(code, 8)
			got, found := again.Symbols.At(addr)
			if want, ok := indexed.Symbols.At(addr); got != want || found != ok {
				t.Fatalf("seed %d, %#x: %+v, %v after other scans; %+v, %v by the index, of\n%+v", seed, addr, got, found, want, ok, list)
			}
		}
	}
}

// TestSectionsByName: the first of a name is found, among few sections and among more than are told apart by their names' sums.
func TestSectionsByName(t *testing.T) {
	for _, n := range []int{1, 40, 300} {
		e := build{wide: true}
		for i := range n {
			e.secs = append(e.secs, sec{name: fmt.Sprintf(".s%d", i), data: []byte{byte(i)}}, sec{name: fmt.Sprintf(".s%d", i), data: []byte("second")})
		}
		e.secs = append(e.secs, text(0x1000, 0x10))
		img := parse(t, e.bytes())
		for i := range n {
			if s, ok := img.Sections.Named(fmt.Sprintf(".s%d", i)); !ok || len(s.Data) != 1 || s.Data[0] != byte(i) {
				t.Errorf("%d sections: .s%d is %v, %t", n, i, s.Data, ok)
			}
		}
		if s, ok := img.Sections.Named(".t0"); ok {
			t.Errorf("%d sections: .t0 is %v", n, s.Data)
		}
	}
}
