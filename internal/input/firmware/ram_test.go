package firmware_test

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/target"
)

// dump is an ELF32 core of ARM, as OpenOCD writes it: segments at addresses, of sizes, whose
// bytes follow the headers in one run.
func dump(content []byte, segments ...[2]uint32) []byte {
	const ehdr, phdr = 52, 32
	le := binary.LittleEndian
	b := append([]byte("\x7fELF\x01\x01\x01"), make([]byte, 9)...)
	for _, v := range []uint16{4, 40} { // ET_CORE, EM_ARM
		b = le.AppendUint16(b, v)
	}
	for _, v := range []uint32{1, 0, ehdr, 0, 0} {
		b = le.AppendUint32(b, v)
	}
	for _, v := range []uint16{ehdr, phdr, uint16(len(segments)), 0, 0, 0} {
		b = le.AppendUint16(b, v)
	}
	at := uint32(ehdr + phdr*len(segments))
	for _, s := range segments {
		for _, v := range []uint32{1, at, s[0], s[0], s[1], s[1], 6, 4} { // PT_LOAD
			b = le.AppendUint32(b, v)
		}
		at += s[1]
	}
	return append(b, content...)
}

// TestDumpAsELF: the segments of a memory dump lie at their addresses; what is cut off is said.
func TestDumpAsELF(t *testing.T) {
	ram := &input.RAM{Regions: []input.Region{{Name: "ram.elf", Pages: input.PagesOf(dump([]byte("01234567abcd"), [2]uint32{0x2000_0000, 8}, [2]uint32{0x2001_0000, 16}, [2]uint32{0x2002_0000, 4}))}}}
	var b target.Builder
	var said []string
	for _, issue := range firmware.AddRAM(&b, ram) {
		said = append(said, issue.Text)
	}
	if got, want := strings.Join(said, "\n"), "ram.elf: loaded segment 1 is cut short, at 0x20010004\nram.elf: loaded segment 2 lies behind the end of the file; left out"; got != want {
		t.Errorf("%s; want %s", got, want)
	}
	mem := b.Memory(arm.Archs()[0])
	for addr, want := range map[uint64]string{0x2000_0000: "01234567", 0x2001_0000: "abcd"} {
		got := make([]byte, len(want))
		if n := mem.Read(addr, got); n != len(want) || !bytes.Equal(got, []byte(want)) {
			t.Errorf("%#x: %q", addr, got[:n])
		}
	}
}

// FuzzAddRAM: memory in any form, anywhere, is read as far as there are bytes of the file.
func FuzzAddRAM(f *testing.F) {
	f.Add(dump([]byte("01234567"), [2]uint32{0x2000_0000, 8}), uint64(0), false)
	f.Add([]byte("@ffffffffffffffc0\n01 02 03 04\nq\n"), uint64(0), false)
	f.Add([]byte(":10246200464C5549442050524F46494C4500464C33\n"), ^uint64(0), true)
	f.Add([]byte("S1137AF00A0A0D0000000000000000000000000061\n"), uint64(1)<<32, true)
	f.Add([]byte("bytes"), ^uint64(0)-2, true)
	f.Fuzz(func(t *testing.T, data []byte, at uint64, placed bool) {
		var b target.Builder
		_ = firmware.AddRAM(&b, &input.RAM{Regions: []input.Region{{Name: "ram", Addr: at, Placed: placed, Pages: input.PagesOf(data)}}})
		size := 0
		for _, s := range b.Memory(arm.Archs()[0]).Segments() {
			if size += len(s.Data); s.Addr+uint64(len(s.Data)) < s.Addr || s.Rest != 0 {
				t.Errorf("%d bytes at %#x, %d zeros behind", len(s.Data), s.Addr, s.Rest)
			}
		}
		const header = 32 // of a segment, at least; segments may show the same bytes
		if size > len(data)*(1+len(data)/header) {
			t.Errorf("%d bytes of memory out of %d", size, len(data))
		}
	})
}
