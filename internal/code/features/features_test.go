package features

import (
	"slices"
	"testing"

	"github.com/backsight/backsight/image"
)

// Text in memory that the program does not write to is a string; numbers among it, and what is written to, are none.
func TestText(t *testing.T) {
	img := image.New(image.Header{Segments: []image.Segment{
		{Addr: 0x1000, Size: 24, Data: []byte("no route to %s\n\x00ab\x00\x01\x02\x03\x04")},
		{Addr: 0x2000, Size: 7, Data: []byte("secret\x00"), Write: true},
	}}, nil)
	for at, want := range map[uint64]string{0x1000: "no route to %s\n", 0x1003: "route to %s\n"} {
		if got, ok := Text(img, at); !ok || got != want {
			t.Errorf("%#x: %q", at, got)
		}
	}
	for _, at := range []uint64{0x1010, 0x1013, 0x2000, 0x3000} {
		if got, ok := Text(img, at); ok {
			t.Errorf("%#x: %q", at, got)
		}
	}
}

// Of many hashes the smallest are kept, each once: the same ones of two functions that name much the same.
func TestLeast(t *testing.T) {
	var many []uint32
	for i := range uint32(100) {
		many = append(many, i*2654435761%1000, i*2654435761%1000)
	}
	got := least(many)
	if len(got) != MaxNamed || !slices.IsSorted(got) || got[0] == got[1] {
		t.Errorf("%d", got)
	}
}

func TestLike(t *testing.T) {
	for _, c := range []struct {
		a, b, members, others []uint32
		want                  float64
	}{
		{[]uint32{1, 2}, []uint32{1, 2}, nil, nil, 1},
		{[]uint32{1, 2}, []uint32{2, 3}, nil, nil, 1. / 3},
		{[]uint32{1}, []uint32{1}, []uint32{5}, []uint32{6}, 2. / 4},
		{nil, nil, []uint32{5}, []uint32{5}, 0}, // members alone tell little
		{[]uint32{1}, nil, nil, nil, 0},
	} {
		if got := Like(c.a, c.b, c.members, c.others); got != c.want {
			t.Errorf("%v and %v: %v, not %v", c.a, c.b, got, c.want)
		}
	}
}
