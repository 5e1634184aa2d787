package vmcore_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/synth/kernels"
)

// Where Machine.Vmcore has the fields p_filesz of the segment of notes, and p_offset
// of the memory's.
const noteSize, memoryOffset = 64 + 32, 64 + 56 + 8

// TestNotesLonger: QEMU states a size of all notes that is too small where processors' vector
// registers differ in length, and all memory lies as much further on.
func TestNotesLonger(t *testing.T) {
	m := kernels.NewMachine(names...)
	le := binary.LittleEndian
	pcs := []uint64{m.Symbols[5].Addr + 8, m.Symbols[4].Addr + 8, m.Symbols[4].Addr + 8}
	whole := m.Vmcore(pcs...)
	shorten := func(by uint64) []byte {
		data := append([]byte(nil), whole...)
		le.PutUint64(data[noteSize:], le.Uint64(data[noteSize:])-by)
		le.PutUint64(data[memoryOffset:], le.Uint64(data[memoryOffset:])-by)
		return data
	}
	want, err := open(t, whole)
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []uint64{4, 300, 600} { // a note has 412 bytes
		snap, err := open(t, shorten(by))
		if err != nil {
			t.Errorf("%d bytes: %v", by, err)
			continue
		}
		if got, want := traces(t, snap), traces(t, want); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%d bytes: %q, want %q", by, got, want)
		}
	}
	// The file ends where it says, so that its memory does, too.
	short := shorten(300)
	if _, err := open(t, short[:len(short)-300]); err == nil {
		t.Error("memory was moved beyond the end of the file")
	}
}

// TestWideHeader: a dump of i386 has the wide form where the machine's memory goes beyond 4 GB.
func TestWideHeader(t *testing.T) {
	m := kernels.NewMachine(names...)
	data := m.Vmcore(0)
	binary.LittleEndian.PutUint16(data[18:], 3)
	if _, err := open(t, data); err != nil && strings.Contains(err.Error(), "unsupported") {
		t.Error(err)
	}
	binary.LittleEndian.PutUint16(data[18:], 0x1234)
	if _, err := open(t, data); err == nil || !strings.Contains(err.Error(), "unsupported") {
		t.Errorf("error %v", err)
	}
}
