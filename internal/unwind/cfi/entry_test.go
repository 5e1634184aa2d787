package cfi_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
)

// le4 and le8 are little-endian numbers.
func le4(v uint64) code { return binary.LittleEndian.AppendUint32(nil, uint32(v)) }

func le8(v uint64) code { return binary.LittleEndian.AppendUint64(nil, v) }

func join(parts ...code) (out code) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// TestAugmentations has one CIE for each augmentation. The FDE's program is
// def_cfa_offset 16: it is found only if all before it is read right.
func TestAugmentations(t *testing.T) {
	const ok = "CFA=rsp+16 RA=[CFA-8]"
	absolute := join(le8(textAddr), le8(16))
	short := join(le4(textAddr), le4(16))
	for _, c := range []struct {
		name string
		cie  cieText
		head code // start and size in the FDE
		aug  code // augmentation data of the FDE
		want string
	}{
		{"none", cieText{version: 1}, absolute, nil, ok},
		{"z", cieText{version: 1, aug: "z"}, absolute, nil, ok},
		{"zR: absolute udata4", cieText{version: 1, aug: "zR", augData: code{0x03}}, short, nil, ok},
		{"zPLR, LSDA in the FDE", cieText{version: 1, aug: "zPLR", augData: join(code{0x03}, le4(1), code{0x03, 0x03})}, short, le4(99), ok},
		{"zPLR, indirect personality", cieText{version: 1, aug: "zPLR", augData: join(code{0x9b}, le4(1), code{0x1b, 0x03})}, short, le4(99), ok},
		{"zP without personality", cieText{version: 1, aug: "zPR", augData: code{0xff, 0x03}}, short, nil, ok},
		// The pointer stands at the next multiple of 8: the CIE's letters are at
		// 9, its augmentation data at 17, after the encoding, so it is at 24.
		{"zP aligned", cieText{version: 1, aug: "zPR", augData: join(code{0x50}, make(code, 6), le8(1), code{0x03})}, short, nil, ok},
		{"zP of unknown format", cieText{version: 1, aug: "zPR", augData: join(code{0x07}, le4(1), code{0x03})}, short, nil, "malformed"},
		{"zRS", cieText{version: 1, aug: "zRS", augData: code{0x03}}, short, nil, "signal " + ok},
		{"zRB", cieText{version: 1, aug: "zRB", augData: code{0x03}}, short, nil, ok},
		{"zR and something unknown", cieText{version: 1, aug: "zRQX", augData: code{0x03, 1, 2, 3, 4}}, short, nil, ok},
		{"z: more data than letters", cieText{version: 1, aug: "zR", augData: code{0x03, 1, 2, 3}}, short, nil, ok},
		{"eh of GCC 2", cieText{version: 1, aug: "eh", extra: le8(0x1234)}, absolute, nil, ok},
		{"armcc+", cieText{version: 1, aug: "armcc+"}, absolute, nil, ok},
		{"unknown without z", cieText{version: 1, aug: "mystery"}, absolute, nil, "malformed"},
		{"letters without end", cieText{version: 1, aug: "z" + strings.Repeat("S", 64)}, absolute, nil, "malformed"},
		{"version 3", cieText{version: 3}, absolute, nil, ok},
		{"version 4", cieText{version: 4, extra: code{8, 0}}, absolute, nil, ok},
		{"version 4, 32-bit addresses", cieText{version: 4, extra: code{4, 0}}, short, nil, ok},
		{"version 4, segment selectors", cieText{version: 4, extra: code{8, 2}}, join(code{1, 2}, absolute), nil, ok},
		{"version 4, addresses of 3 bytes", cieText{version: 4, extra: code{3, 0}}, absolute, nil, "malformed"},
		{"version 2", cieText{version: 2}, absolute, nil, "malformed"},
		{".debug_frame", cieText{version: 3, debug: true}, absolute, nil, ok},
		{".debug_frame, 64-bit DWARF", cieText{version: 3, debug: true, wide: true}, absolute, nil, ok},
		{".debug_frame version 4", cieText{version: 4, debug: true, extra: code{8, 0}}, absolute, nil, ok},
		{".eh_frame, 64-bit length", cieText{version: 1, wide: true}, absolute, nil, ok},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cie.ra, c.cie.code = 16, onEntry
			frames := c.cie.assemble(8, fdeText{head: c.head, aug: c.aug, code: code{0x0e, 16}})
			img := imageOf(archNamed(t, "x86_64", "", false), image.Section{Name: c.cie.name(), Data: frames})
			if got := ask(img, textAddr+4); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestPointerEncodings states the same start in each encoding. The CIE has 22
// bytes, so the FDE's pointer stands at 30.
func TestPointerEncodings(t *testing.T) {
	const (
		at   = frameAddr + 30
		text = textAddr + 0x100
		data = frameAddr + 0x4000
	)
	for _, c := range []struct {
		name string
		enc  byte
		head code
	}{
		{"absptr", 0x00, join(le8(textAddr), le8(16))},
		{"uleb128", 0x01, code{0x80, 0x80, 0x04, 16}},
		{"udata4", 0x03, join(le4(textAddr), le4(16))},
		{"udata8", 0x04, join(le8(textAddr), le8(16))},
		{"signed address", 0x08, join(le8(textAddr), le8(16))},
		{"sleb128", 0x09, code{0x80, 0x80, 0x04, 16}},
		{"sdata4", 0x0b, join(le4(textAddr), le4(16))},
		{"sdata8", 0x0c, join(le8(textAddr), le8(16))},
		{"pcrel sdata4", 0x1b, join(le4(1<<32-(at-textAddr)), le4(16))},
		{"pcrel sdata8", 0x1c, join(le8(1<<64-(at-textAddr)), le8(16))},
		{"textrel sdata2", 0x2a, code{0x00, 0xff, 16, 0}},
		{"datarel sdata4", 0x3b, join(le4(1<<32-(data-textAddr)), le4(16))},
		{"funcrel udata4", 0x43, join(le4(textAddr), le4(16))},
		{"aligned", 0x50, join(make(code, 2), le8(textAddr), le8(16))},
		{"indirect udata4", 0x83, join(le4(frameAddr+0x2000), le4(16))},
	} {
		t.Run(c.name, func(t *testing.T) {
			cie := cieText{version: 1, aug: "zR", augData: code{c.enc}, ra: 16, code: onEntry}
			frames := cie.assemble(8, fdeText{head: c.head})
			frames = append(frames, make(code, 0x2000-len(frames))...)
			frames = append(frames, le8(textAddr)...) // what the indirect pointer points to
			img := imageOf(archNamed(t, "x86_64", "", false), image.Section{Name: ".eh_frame", Data: frames},
				image.Section{Name: ".text", Addr: text}, image.Section{Name: ".got", Addr: data})
			if got := ask(img, textAddr+4); got != "CFA=rsp+8 RA=[CFA-8]" {
				t.Error(got)
			}
			if got := ask(img, textAddr+16); got == "CFA=rsp+8 RA=[CFA-8]" {
				t.Errorf("at the end: %s", got)
			}
		})
	}
}

// TestAddressSizes: n32 has 32-bit addresses and 64-bit registers. In MIPS16e
// code labels are odd; the function begins at the even address.
func TestAddressSizes(t *testing.T) {
	for _, c := range []struct {
		arch, abi string
		size      int
		start     uint64
	}{
		{"mips", "o32", 4, textAddr}, {"mips64", "n32", 4, textAddr}, {"mips64", "n64", 8, textAddr},
		{"mips", "o32", 4, textAddr + 1},
	} {
		cie := cieText{version: 1, ra: 31, code: code{0x0d, 29}, bigFirst: true, data: 0x7c}
		frames := cie.assemble(c.size, fdeText{start: c.start, size: 16, code: code{0x44, 0x0e, 32, 0x80 + 31, 1}})
		img := imageOf(archNamed(t, c.arch, c.abi, true), image.Section{Name: ".eh_frame", Data: frames})
		for off, want := range map[uint64]string{0: "CFA=sp RA=ra", 4: "CFA=sp+32 RA=[CFA-4]", 16: "not covered"} {
			if got := ask(img, textAddr+off); got != want {
				t.Errorf("%s %s +%d: %s, want %s", c.arch, c.abi, off, got, want)
			}
		}
	}
}
