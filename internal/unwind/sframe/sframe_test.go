package sframe

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/unwind"
)

// tableAt is where the section lies.
const tableAt = 0x402000

// container is a file with the section alone.
type container struct{ data []byte }

func (c *container) Section(name string) (image.Section, bool) {
	return image.Section{Addr: tableAt, Data: c.data}, name == ".sframe"
}
func (*container) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (*container) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (*container) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (*container) Close() error                                  { return nil }

func imageOf(t testing.TB, name string, data []byte) *image.Image {
	arch, ok := captured.Archs().ByName(name, "", false)
	if !ok {
		t.Fatal(name)
	}
	return image.New(image.Header{Arch: arch, Segments: []image.Segment{{Addr: 0x401000, Size: 0x1000, Exec: true}}}, &container{data})
}

// header is a header of a version for AMD64 (3) or AArch64 (2), whose descriptors say where starts are from there.
func header(version, abi byte, fixedRA int8, fdes, fdeSize int, fres []byte) []byte {
	b := []byte{0xe2, 0xde, version, 1 | flagPC, abi, 0, byte(fixedRA), 0}
	for _, v := range []int{fdes, 0, len(fres), 0, fdes * fdeSize} {
		b = binary.LittleEndian.AppendUint32(b, uint32(v))
	}
	return b
}

// version3 is a table of functions of 0x10 bytes each from 0x401000 on. Each lists its attributes, five bytes, and its rows.
func version3(abi byte, fixedRA int8, functions ...[]byte) []byte {
	fres := bytes.Join(functions, nil)
	b, at := header(3, abi, fixedRA, len(functions), sizeFDE3, fres), 0
	for i, f := range functions {
		b = binary.LittleEndian.AppendUint64(b, uint64(0x401000+0x10*i)-(tableAt+uint64(len(b))))
		b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, 0x10), uint32(at))
		at += len(f)
	}
	return append(b, fres...)
}

// TestVersion3: default and flexible descriptors, an outermost frame, a signal's frame, stubs that repeat, words of two bytes.
func TestVersion3(t *testing.T) {
	const lost = " rbx=undefined r12=undefined r13=undefined r14=undefined r15=undefined"
	amd64 := imageOf(t, "x86_64", version3(abiAMD64, -8,
		[]byte{2, 0, 0, 0, 0 /* */, 0, 1<<1 | 1, 8 /* */, 4, 1<<5 | 2<<1, 0x10, 0, 0xf0, 0xff},
		[]byte{1, 0, 0, 1, 0 /* */, 0, 5 << 1, 6<<3 | 3, 0xf8 /* CFA=[rbp-8] */, 0 /* RA */, 6<<3 | 3, 0 /* rbp=[rbp] */},
		[]byte{1, 0, infoSignal, 1, 0 /* */, 0, 4 << 1, 7<<3 | 1, 40, 7<<3 | 3, 16},
		[]byte{2, 0, infoMask, 0, 8 /* */, 0, 1<<1 | 1, 8 /* */, 6, 1<<1 | 1, 16},
		[]byte{1, 0, 0, 0, 0 /* */, 0, 0}))
	arm64 := imageOf(t, "aarch64", version3(abiARM64, 0,
		[]byte{2, 0, 0, 0, 0 /* */, 0, 1<<1 | 1, 0 /* */, 4, 0x80 | 3<<1, 32, 0xe8, 0xe0}))
	for _, tt := range []struct {
		img  *image.Image
		pc   uint64
		want string
	}{
		{amd64, 0x401000, "CFA=rsp+8 RA=[CFA-8] rbp=same" + lost},
		{amd64, 0x40100f, "CFA=rbp+16 RA=[CFA-8] rbp=[CFA-16]" + lost},
		{amd64, 0x401010, "CFA=[rbp-8] RA=[CFA-8] rbp=[rbp+0]" + lost},
		{amd64, 0x401020, "signal CFA=rsp+40 RA=[rsp+16] rbp=same" + lost},
		{amd64, 0x40103d, "CFA=rsp+8 RA=[CFA-8] rbp=same" + lost},
		{amd64, 0x40103e, "CFA=rsp+16 RA=[CFA-8] rbp=same" + lost},
		{amd64, 0x401040, "end of stack"},
		{amd64, 0x401050, "not covered"},
		{amd64, 0x400fff, "not covered"},
		{arm64, 0x401003, "CFA=sp RA=x30 x29=same"},
		{arm64, 0x401004, "signed CFA=x29+32 RA=[CFA-24] x29=[CFA-32]"},
	} {
		var out stackwalk.Rule
		got := Source{}.Rule(&stackwalk.Query{Image: tt.img, Arch: tt.img.Arch, PC: tt.pc}, &out).String()
		if got == unwind.Found.String() {
			got = out.Format(tt.img.Arch)
		}
		for flag, word := range map[stackwalk.RuleFlags]string{stackwalk.SignalFrame: "signal ", stackwalk.SignedRA: "signed "} {
			if out.Flags&flag != 0 {
				got = word + got
			}
		}
		if len(got) < len(tt.want) || got[:len(tt.want)] != tt.want {
			t.Errorf("%#x: %s, want %s", tt.pc, got, tt.want)
		}
	}
}

// TestNotForUs: another processor's table, a version from the future, no magic.
func TestNotForUs(t *testing.T) {
	row := []byte{1, 0, 0, 0, 0, 0, 1<<1 | 1, 8}
	for name, data := range map[string][]byte{
		"of AArch64": version3(abiARM64, 0, row), "version 4": bytes.Replace(version3(abiAMD64, -8, row), []byte{0xde, 3}, []byte{0xde, 4}, 1), "empty": nil,
	} {
		img := imageOf(t, "x86_64", data)
		var out stackwalk.Rule
		if v := (Source{}).Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: 0x401000}, &out); v != unwind.NotCovered {
			t.Errorf("%s: %v", name, v)
		}
	}
}

// FuzzTable: no bytes are too much for the reader.
func FuzzTable(f *testing.F) {
	f.Add(version3(abiAMD64, -8, []byte{1, 0, 0, 1, 0, 0, 5 << 1, 6<<3 | 3, 0xf8, 0, 6<<3 | 3, 0}))
	f.Add(version3(abiARM64, 0, []byte{2, 0, 0, 0, 0, 0, 1<<1 | 1, 0, 4, 0x80 | 3<<1, 32, 0xe8, 0xe0}))
	two := append(header(2, abiAMD64, -8, 1, sizeFDE2, []byte{0, 3, 8}), 0xe4, 0xef, 0xff, 0xff, 16, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 3, 8)
	f.Add(two)
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, name := range []string{"x86_64", "aarch64"} {
			img := imageOf(t, name, data)
			for pc := uint64(0x401000); pc < 0x401040; pc++ {
				var out stackwalk.Rule
				if v := (Source{}).Rule(&stackwalk.Query{Image: img, Arch: img.Arch, PC: pc}, &out); v == unwind.Found && out.CFA.Kind == stackwalk.Unspecified {
					t.Fatalf("%s %#x: a rule without a CFA", name, pc)
				}
			}
		}
	})
}
