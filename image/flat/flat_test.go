package flat

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// TestOpen: every byte is code, from image address 0 on.
func TestOpen(t *testing.T) {
	arm := &cpu.Arch{AddrSize: 4}
	img, err := image.Parse("firmware.bin", []byte("\x00\x10\x00\x20code"), []image.Format{Format()}, image.Options{Raw: arm})
	if err != nil {
		t.Fatal(err)
	}
	s := img.Segments[0]
	if len(img.Segments) != 1 || s.Addr != 0 || s.Size != 8 || !s.Exec || !s.Write || !s.Read || img.Arch != arm {
		t.Errorf("segments %+v", img.Segments)
	}
	if w, ok := img.Word(0); !ok || w != 0x20001000 {
		t.Errorf("first word %#x, %t", w, ok)
	}
	if _, ok := img.SymbolAt(0); ok {
		t.Error("a symbol in raw firmware")
	}
	if err := img.Close(); err != nil {
		t.Error(err)
	}
}

// TestUnknownProcessor: nothing in such a file tells for which processor it is.
func TestUnknownProcessor(t *testing.T) {
	_, err := image.Parse("notes.txt", []byte("hello"), []image.Format{Format()}, image.Options{})
	if err == nil || err.Error() != "notes.txt: offset 0x0: unrecognised file; one without headers needs its processor to be stated" {
		t.Error(err)
	}
}
