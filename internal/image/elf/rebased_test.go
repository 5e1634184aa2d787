package elf

import (
	"encoding/hex"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
)

func rebasedValues(img *image.Image) (vs []uint64, all bool) {
	all = img.Rebased(func(v uint64) bool { vs = append(vs, v); return true })
	slices.Sort(vs)
	return slices.Compact(vs), all
}

// TestRebased: relative relocations with the value in the entry or in place, packed
// ones, and functions of .dynsym; the word at importsData is 0, the one behind 16.
func TestRebased(t *testing.T) {
	const own, relr = importsText, 0x6000
	for _, tt := range []struct {
		name string
		e    build
		rela bool
		rel  []trel
		relr []uint64
		want []uint64
	}{
		{name: "x86-64", e: build{wide: true}, rela: true,
			rel:  []trel{{off: importsGOT, typ: rX8664Relative, addend: own + 4}, {off: importsGOT + 8, sym: 1, typ: rX8664GlobDat}, {off: importsGOT + 16, typ: rX8664Irelative, addend: own + 6}},
			want: []uint64{own, own + 4, own + 6}},
		{name: "i386", rel: []trel{{off: importsData + 4, typ: r386Relative}}, want: []uint64{16, own}},
		{name: "ARM", e: build{machine: emARM}, rel: []trel{{off: importsData + 4, typ: rARMRelative}}, want: []uint64{16, own}},
		{name: "AArch64", e: build{machine: emAArch64, wide: true}, rela: true,
			rel: []trel{{off: importsGOT, typ: rAArch64Relative, addend: own + 4}}, want: []uint64{own, own + 4}},
		{name: "RISC-V", e: build{machine: emRISCV}, rela: true,
			rel: []trel{{off: importsGOT, typ: rRISCVRelative, addend: own + 2}}, want: []uint64{own, own + 2}},
		{name: "packed", e: build{wide: true}, relr: []uint64{importsData, 1<<1 | 1}, want: []uint64{0, 16, own}},
		{name: "MIPS", e: build{machine: emMIPS},
			rel: []trel{{off: importsData + 4, typ: rMIPSRel32}, {off: importsData, typ: rMIPSRel32, sym: 1}}, want: []uint64{16, own}},
		{name: "none"},
	} {
		b := tt.e.buf()
		b.word(tt.relr...)
		e := tt.e.withImports(tt.rel, nil, tt.rela, 0, dtRelr, relr, dtRelrsz, uint64(len(b.b)))
		e.secs = append(e.secs, sec{name: ".relr.dyn", flags: shfAlloc, addr: relr, data: b.b})
		got, all := rebasedValues(parse(t, e.bytes()))
		if !slices.Equal(got, tt.want) || all != (tt.want != nil) {
			t.Errorf("%s: %#x, all %t, want %#x", tt.name, got, all, tt.want)
		}
	}
}

// TestLoadedWord: what words will be that relocations have (of the image's own function, too, but not of another
// image's), and what the file has of others.
func TestLoadedWord(t *testing.T) {
	const next = importsGOT + 8
	list := []trel{{off: importsGOT, typ: rAArch64Relative, addend: importsText + 4}, {off: next, typ: rAArch64Relative, addend: importsText + 6},
		{off: next + 8, sym: 4, typ: rAArch64Abs64}, {off: next + 16, sym: 1, typ: rAArch64GlobDat}}
	for _, tt := range []struct {
		name string
		rel  []trel
		want map[uint64]uint64
	}{
		{"relocations", list, map[uint64]uint64{importsGOT: importsText + 4, next: importsText + 6, next + 8: importsText, next + 16: 0, importsData + 8: 0x10}},
		{"none", nil, map[uint64]uint64{importsGOT: 0, next: 0, importsData + 8: 0x10}},
	} {
		img := parse(t, build{machine: emAArch64, wide: true}.withImports(tt.rel, nil, true, 0).bytes())
		for at, want := range tt.want {
			if got, _ := img.LoadedWord(at); got != want {
				t.Errorf("%s: %#x holds %#x, want %#x", tt.name, at, got, want)
			}
		}
	}
}

// TestRebasedLocalGOT: the local part of the MIPS GOT moves without relocations. Its
// first two words are the dynamic linker's, and a page is no address of a function.
func TestRebasedLocalGOT(t *testing.T) {
	const got, local, page = 0x6000, importsText + 4, 0x1_0000
	for _, tt := range []struct {
		words uint64
		want  []uint64
	}{
		{4, []uint64{importsText, local}},
		{3, []uint64{importsText}},
		{0, []uint64{importsText}},
		{1 << 29, []uint64{importsText, local, local + 4}}, // as far as the segment goes
	} {
		base := build{machine: emMIPS}
		b := base.buf()
		b.word(importsText+8, 1<<31, page, local, local+4)
		e := base.withImports(nil, nil, false, 0, dtPltgot, got, dtMIPSLocalGotno, tt.words)
		e.secs = append(e.secs, sec{name: ".got", flags: shfAlloc, addr: got, data: b.b})
		if vs, all := rebasedValues(parse(t, e.bytes())); !slices.Equal(vs, tt.want) || !all {
			t.Errorf("%d words: %#x, all %t, want %#x", tt.words, vs, all, tt.want)
		}
	}
}

// TestRebasedStops: no further than whoever asks wants, nor than the file goes.
func TestRebasedStops(t *testing.T) {
	list := []trel{{off: 1, typ: rX8664Relative, addend: 1}, {off: 2, typ: rX8664Relative, addend: 2}}
	n := 0
	parse(t, build{wide: true}.withImports(list, nil, true, 0).bytes()).Rebased(func(uint64) bool { n++; return false })
	if n != 1 {
		t.Errorf("asked %d times", n)
	}
	for _, dyn := range [][]uint64{{dtRelasz, 1 << 62}, {dtRelr, importsRel, dtRelrsz, ^uint64(0)}, {dtRelr, 1 << 40, dtRelrsz, 1 << 40}} {
		img := parse(t, build{wide: true}.withImports(list, nil, true, 0, dyn...).bytes())
		if vs, all := rebasedValues(img); !all || !slices.Contains(vs, 2) {
			t.Errorf("%#x: %d values, all %t", dyn, len(vs), all)
		}
	}
}

// TestRebasedEqualReadelf: whatever readelf decodes of RELR, values as in place.
func TestRebasedEqualReadelf(t *testing.T) {
	for _, path := range libraries(t) {
		out, err := exec.Command("readelf", "-rW", path).Output()
		if err != nil {
			t.Skip("no readelf: ", err)
		}
		_, packed, ok := strings.Cut(string(out), "'.relr.dyn'")
		if !ok {
			continue
		}
		img := openReal(t, path)
		vs, _ := rebasedValues(img)
		compared := 0
		for line := range strings.Lines(packed) {
			if w := strings.TrimSpace(line); (len(w) == 16 || len(w) == 8) && validHex(w) {
				a, _ := strconv.ParseUint(w, 16, 64)
				v, _ := img.Word(a)
				compared++
				if _, found := slices.BinarySearch(vs, v); !found {
					t.Fatalf("%s: the word at %#x, %#x, is missing", path, a, v)
				}
			}
		}
		t.Logf("%s: %d words", path, compared)
	}
}

func validHex(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil
}
