package cfi_test

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/unwind/cfi"
)

// withData is an image of nothing but bytes at an address.
func withData(t testing.TB, data []byte) *image.Image {
	h := image.Header{Path: "data", Arch: archNamed(t, "x86_64", "", false)}
	h.Segments = []image.Segment{{Addr: 0x2000, Size: uint64(len(data)), Data: data, Read: true}}
	return image.New(h, sections{})
}

// TestLandingPads: two of three calls have a landing pad, as GCC writes them: omitted base, types, offsets in ULEB128.
func TestLandingPads(t *testing.T) {
	lsda := []byte{0xff, 0x9b, 0x15, 0x01, 12, 0x10, 5, 0x40, 1, 0x20, 5, 0, 0, 0x30, 5, 0x48, 0}
	pads, complete := cfi.LandingPads(withData(t, lsda), 0x1000, 0x2000)
	if !complete || !slices.Equal(pads, []uint64{0x1040, 0x1048}) {
		t.Errorf("%#x %v", pads, complete)
	}
	if _, complete := cfi.LandingPads(withData(t, lsda[:10]), 0x1000, 0x2000); complete {
		t.Error("cut data is complete")
	}
	if _, complete := cfi.LandingPads(withData(t, lsda), 0x1000, 0x5000); complete {
		t.Error("no data is complete")
	}
}

// FuzzLandingPads: pads are in order, each once.
func FuzzLandingPads(f *testing.F) {
	f.Add([]byte{0xff, 0x9b, 0x15, 0x01, 8, 0x10, 5, 0x40, 1, 0x20, 5, 0, 0})
	f.Add([]byte{0x1b, 0, 1, 0, 0, 0xff, 0x03, 13, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		pads, _ := cfi.LandingPads(withData(t, data), 0x1000, 0x2000)
		if !slices.IsSorted(pads) || len(slices.Compact(slices.Clone(pads))) != len(pads) {
			t.Errorf("%#x", pads)
		}
	})
}

// TestExceptions: an FDE names its function's data for exceptions, a CIE without such a pointer says that there is none.
func TestExceptions(t *testing.T) {
	arch := archNamed(t, "x86_64", "", false)
	head := join(le4(textAddr), le4(64))
	for aug, want := range map[string]uint64{"zLR": 0x2000, "zR": 0} {
		cie := cieText{version: 1, aug: aug, augData: code{0x03, 0x03}[:len(aug)-1], ra: 16, code: onEntry}
		text := fdeText{head: head}
		if want != 0 {
			text.aug = le4(want)
		}
		img := imageOf(arch, image.Section{Name: ".eh_frame", Data: cie.assemble(8, text)})
		lo, hi, lsda, known := cfi.New().Exceptions(img, textAddr+8)
		if !known || lo != textAddr || hi != textAddr+64 || lsda != want {
			t.Errorf("%s: %#x to %#x, %#x, %v", aug, lo, hi, lsda, known)
		}
	}
	if _, _, _, known := cfi.New().Exceptions(imageOf(arch), textAddr); known {
		t.Error("no table knows a function")
	}
}
