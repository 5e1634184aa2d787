package elf_test

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/synth/captured"
	"github.com/backsight/backsight/internal/synth/recorded"
)

// TestOutline: the header and the loaded sections of a program, in the order of the file.
func TestOutline(t *testing.T) {
	img, err := elf.Open(recorded.Testdata(t, "mips-naked/modules/packer"), image.Options{Archs: captured.Archs(), NoDebugFiles: true})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	o, ok := elf.OutlineOf(img)
	if !ok || o.Machine != 8 || o.Entry != img.Entry {
		t.Fatalf("%v %+v", ok, o)
	}
	for _, s := range o.Sections {
		if s.Exec && s.Name == ".text" && s.Size > 0 {
			return
		}
	}
	t.Errorf("no .text among %+v", o.Sections)
}

// TestOutlineOfOthers: an image that is no ELF file has none.
func TestOutlineOfOthers(t *testing.T) {
	if _, ok := elf.OutlineOf(image.New(image.Header{}, nil)); ok {
		t.Error("an image without a file has an outline")
	}
}
