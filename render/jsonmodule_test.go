package render

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/target"
)

// TestDebugID: a build is called as the symbol servers of its system do.
func TestDebugID(t *testing.T) {
	id := []byte("\x01\x02\x03\x04\x05\x06\x07\x08ABCDEFGH")
	big, windows := image.New(image.Header{Arch: mips.Archs()[0]}, nil), image.New(image.Header{Arch: x86.Archs()[0], System: "windows"}, nil)
	if !big.Arch.BigEndian {
		t.Fatal("not big-endian")
	}
	for _, c := range []struct {
		id   []byte
		img  *image.Image
		os   string
		want string
	}{
		{nil, nil, "Linux", ""},
		{id, nil, "Linux", "04030201060508074142434445464748" + "0"},
		{append(id[:16:16], 1, 2, 3, 4), nil, "Linux", "04030201060508074142434445464748" + "0"}, // a build ID of 20 bytes
		{id, big, "Linux", "01020304050607084142434445464748" + "0"},
		{id, nil, "macOS", "01020304050607084142434445464748" + "0"},
		{append(id[:16:16], 0x1c, 0, 0, 0), nil, "Windows", "04030201060508074142434445464748" + "1C"},
		{append(id[:16:16], 2, 0, 0, 0), windows, "", "04030201060508074142434445464748" + "2"},
	} {
		if got := debugID(c.id, &target.Module{Image: c.img}, c.os); got != c.want {
			t.Errorf("%x of %s: %s, want %s", c.id, c.os, got, c.want)
		}
	}
}
