package e2e_test

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// xtensaELF is a program for Xtensa with some functions, whose code is of no matter.
func xtensaELF() []byte {
	const base, size, head = 0x400d_0000, 0x400, 52 + 32
	text, names, symbols := make([]byte, size), []byte("\x00.text\x00.symtab\x00.strtab\x00"), make([]elf.Sym32, 1)
	for i, name := range []string{"app_main", "store_fault", "main_task"} {
		symbols = append(symbols, elf.Sym32{Name: uint32(len(names)), Value: base + 0x100 + 0x80*uint32(i), Size: 0x80, Info: byte(elf.STT_FUNC), Shndx: 1})
		names = append(append(names, name...), 0)
	}
	at := uint32(head + size)
	table := uint32(len(symbols) * elf.Sym32Size)
	end := at + table + uint32(len(names))
	header := elf.Header32{Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_XTENSA), Version: 1, Entry: base, Phoff: 52, Shoff: end, Ehsize: 52, Phentsize: 32, Phnum: 1,
		Shentsize: 40, Shnum: 4, Shstrndx: 3}
	copy(header.Ident[:], "\x7fELF\x01\x01\x01")
	var b bytes.Buffer
	for _, part := range []any{header, elf.Prog32{Type: uint32(elf.PT_LOAD), Off: head, Vaddr: base, Filesz: size, Memsz: size, Flags: uint32(elf.PF_R | elf.PF_X)},
		text, symbols, names, [4]elf.Section32{{}, {Name: 1, Type: uint32(elf.SHT_PROGBITS), Flags: uint32(elf.SHF_ALLOC | elf.SHF_EXECINSTR), Addr: base, Off: head, Size: size},
			{Name: 7, Type: uint32(elf.SHT_SYMTAB), Off: at, Size: table, Link: 3, Entsize: elf.Sym32Size}, {Name: 15, Type: uint32(elf.SHT_STRTAB), Off: at + table, Size: uint32(len(names))}}} {
		_ = binary.Write(&b, binary.LittleEndian, part)
	}
	return b.Bytes()
}

// TestXtensa: what a device with Xtensa lists is named by its program; what takes code is refused by the processor's name.
func TestXtensa(t *testing.T) {
	dir, program := t.TempDir(), command(t)
	const log = "Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.\n\nCore  0 register dump:\n" +
		"PC      : 0x400d0190  PS      : 0x00060a30  A0      : 0x800d0133  A1      : 0x3ffb4e40\nEXCCAUSE: 0x0000001c  EXCVADDR: 0x00000000\n\n" +
		"Backtrace: 0x400d018d:0x3ffb4e40 0x400d0130:0x3ffb4e60 0x400d0239:0x3ffb4e80\n"
	for name, data := range map[string][]byte{"app.elf": xtensaELF(), "serial.log": []byte(log)} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const want = `Thread 0 "panic" (crashed): panic at 0x00000000
    LoadProhibited: read was refused, at 0x0
#0  0x400d0190  store_fault+0x10         in app.elf
#1  0x400d0133  app_main+0x33            in app.elf [prewalked, likely]
#2  0x400d023c  main_task+0x3c           in app.elf [prewalked, likely]
`
	if out, talk, _ := run(t, program, dir, "bt", "-e", "app.elf", "serial.log"); !strings.HasPrefix(out, want) {
		t.Errorf("%s%s", out, talk)
	}
	for _, args := range [][]string{{"explain", "app.elf", "0x400d0190"}, {"table", "-o", "t", "app.elf"}, {"table", "--check", "app.elf"}} {
		if _, talk, exit := run(t, program, dir, args...); exit != 2 || !strings.Contains(talk, "xtensa windowed little-endian, a processor whose code is not analysed") {
			t.Errorf("%v: exit %d, %s", args, exit, talk)
		}
	}
}
