package truth

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
)

// tables are the sections that unwinders read.
var tables = map[string]bool{".eh_frame": true, ".eh_frame_hdr": true, ".ARM.exidx": true, ".ARM.extab": true, ".gcc_except_table": true,
	".pdr": true, ".debug_frame": true}

// Types of program headers that point at unwind tables.
const (
	ptGNUEHFrame = 0x6474e550
	ptARMExidx   = 0x70000001
)

// Undress zeroes the unwind tables of a stripped file in place and nulls the headers
// that say where they are. Code and data stay where and what they are.
func Undress(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil {
		return err
	}
	var order binary.ByteOrder = f.ByteOrder
	shoff, shentsize := uint64(order.Uint32(b[32:])), 40
	phoff, phentsize := uint64(order.Uint32(b[28:])), 32
	if f.Class == elf.ELFCLASS64 {
		shoff, shentsize, phoff, phentsize = order.Uint64(b[40:]), 64, order.Uint64(b[32:]), 56
	}
	for i, s := range f.Sections {
		if tables[s.Name] && s.Type != elf.SHT_NOBITS {
			clear(b[s.Offset : s.Offset+s.FileSize])
			order.PutUint32(b[shoff+uint64(i*shentsize)+4:], uint32(elf.SHT_NULL))
		}
	}
	for i, p := range f.Progs {
		exidx := p.Type == ptARMExidx && f.Machine == elf.EM_ARM
		if p.Type == ptGNUEHFrame || exidx {
			order.PutUint32(b[phoff+uint64(i*phentsize):], uint32(elf.PT_NULL))
		}
	}
	return os.WriteFile(to, b, 0o644)
}
