package flat

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/cpu"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "firmware.bin")
	if err := os.WriteFile(path, []byte("\x00\x10\x00\x20code"), 0o600); err != nil {
		t.Fatal(err)
	}
	arm, amd := &cpu.Arch{AddrSize: 4}, &cpu.Arch{AddrSize: 8}
	for _, tt := range []struct {
		name string
		arch *cpu.Arch
		addr uint64
		size uint64 // 0: an error
	}{
		{"flash", arm, 0x0800_0000, 8},
		{"address 0", arm, 0, 8},
		{"end of 32 bits", arm, 0xffff_fff8, 8},
		{"beyond 32 bits", arm, 0xffff_fffc, 4},
		{"64-bit address of a 32-bit processor", arm, 1 << 32, 0},
		{"64 bits", amd, 0xffff_ffff_8000_0000, 8},
	} {
		img, err := Open(path, tt.arch, tt.addr)
		if (err == nil) != (tt.size != 0) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err != nil {
			continue
		}
		s := img.Segments[0]
		if len(img.Segments) != 1 || s.Addr != tt.addr || s.Size != tt.size || !s.Exec || !s.Write || !s.Read {
			t.Errorf("%s: %+v", tt.name, s)
		}
		if w, ok := img.Word(tt.addr); tt.arch == arm && (!ok || w != 0x20001000) {
			t.Errorf("%s: first word %#x, %t", tt.name, w, ok)
		}
		if _, ok := img.SymbolAt(tt.addr); ok {
			t.Errorf("%s: symbol in raw firmware", tt.name)
		}
		if err := img.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, empty, filepath.Join(dir, "absent")} {
		if _, err := Open(path, &cpu.Arch{AddrSize: 4}, 0); err == nil {
			t.Errorf("%s opened", path)
		}
	}
}
