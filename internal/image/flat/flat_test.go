package flat

import (
	"strings"
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
	if _, ok := img.Symbols.At(0); ok {
		t.Error("a symbol in raw firmware")
	}
	if err := img.Close(); err != nil {
		t.Error(err)
	}
}

// TestUnknownProcessor: nothing in such a file tells for which processor it is.
func TestUnknownProcessor(t *testing.T) {
	_, err := image.Parse("notes.txt", []byte("hello"), []image.Format{Format()}, image.Options{})
	if err == nil || err.Error() != "notes.txt: offset 0x0: not a known kind of binary; code without headers needs its processor to be stated (--arch)" {
		t.Error(err)
	}
}

// TestHex: text with addresses is a segment for each run, at those addresses.
func TestHex(t *testing.T) {
	text := ":020000040800F2\n:10010000214601360121470136007EFE09D2190140\n:0400000508000131BD\n:00000001FF\n"
	img, err := image.Parse("firmware.hex", []byte(text), []image.Format{Format()}, image.Options{Raw: &cpu.Arch{AddrSize: 4}})
	if err != nil {
		t.Fatal(err)
	}
	if s := img.Segments; len(s) != 1 || s[0].Addr != 0x8000100 || s[0].Size != 16 || img.Entry != 0x8000131 {
		t.Errorf("segments %+v, entry %#x", s, img.Entry)
	}
}

// TestVectorTable: firmware for "arm" that begins with the vector table of the
// microcontroller profile is of that profile, unless the user stated the ABI.
func TestVectorTable(t *testing.T) {
	plain := &cpu.Arch{Name: "arm", AddrSize: 4, CodeAddresses: cpu.CodeAddresses{ISABit: true}}
	micro := &cpu.Arch{Name: "arm", ABI: "cortexm", AddrSize: 4, CodeAddresses: cpu.CodeAddresses{ISABit: true, ModeOnly: true}}
	named := &cpu.Arch{Name: "arm", ABI: "be8", AddrSize: 4, CodeAddresses: cpu.CodeAddresses{ISABit: true}}
	table := "\x00\x30\x00\x20\x41\x01\x00\x08\x45\x01\x00\x08\x49\x01\x00\x08" + string(make([]byte, 64))
	even := strings.Replace(table, "\x41", "\x40", 1)
	for _, c := range []struct {
		data      string
		raw, want *cpu.Arch
	}{{table, plain, micro}, {even, plain, plain}, {table, named, named}, {table[:12], plain, plain}} {
		img, err := image.Parse("fw.bin", []byte(c.data), []image.Format{Format()}, image.Options{Raw: c.raw, Archs: cpu.Set{plain, micro, named}})
		if err != nil || img.Arch != c.want {
			t.Errorf("%.16q: %v, %v; want %v", c.data, img.Arch, err, c.want)
		}
	}
}

// FuzzOpen: firmware without headers, or as text, has no more bytes than its file, within the processor's addresses.
func FuzzOpen(f *testing.F) {
	f.Add([]byte("\x00\x10\x00\x20code"), false)
	f.Add([]byte(":10246200464C5549442050524F46494C4500464C33\n:00000001FF\n"), false)
	f.Add([]byte("@fffffffffffffff0\n01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f 10\n11 12\nq\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, wide bool) {
		arch := &cpu.Arch{AddrSize: 4}
		if wide {
			arch.AddrSize = 8
		}
		img, err := image.Parse("firmware", data, []image.Format{Format()}, image.Options{Raw: arch})
		if err != nil {
			return
		}
		n := 0
		for _, s := range img.Segments {
			if n += len(s.Data); s.Addr > arch.AddrMask() || s.Size > arch.AddrMask()-s.Addr {
				t.Errorf("a segment of %#x bytes at %#x", s.Size, s.Addr)
			}
		}
		if n > len(data) {
			t.Errorf("%d bytes out of %d", n, len(data))
		}
	})
}
