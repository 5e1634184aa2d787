package espcore

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/sha256"
)

// Sizes of an ELF file's headers, 32 bits; the machines; kinds of program headers and notes
// (components/espcoredump/src/core_dump_elf.c).
const (
	elfHead, programHeader        = 52, 32
	machineRISCV, machineXtensa   = 243, 94
	typeLoad, typeNote, typeCore  = 1, 4, 4
	noteStatus, noteInfo          = 1, 8266
	noteExtra, notePanic          = 677, 679
	maxHeaders, maxTasks, maxName = 4096, 1024, 64
)

// header is what stands in front of the ELF file in flash: the length of all with the checksum, the version.
type header struct {
	length  uint32
	version uint32
}

// headerOf reads such a header; at is where the ELF file begins.
func headerOf(data []byte) (h header, at int, ok bool) {
	if len(data) < 8 {
		return h, 0, false
	}
	h = header{binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:])}
	if chipOf(h.version) == nil || !isELFVersion(h.version) || h.length < elfHead || h.length > maxDump {
		return h, 0, false
	}
	for _, at := range [...]int{12, 20, 24} {
		if at+4 <= len(data) && bytes.HasPrefix(data[at:], []byte("\x7fELF")) {
			return h, at, true
		}
	}
	return h, 0, false
}

// maxDump bounds a dump in bytes: flash has some megabytes.
const maxDump = 64 << 20

// isELF tells whether data begin as the ELF core of a chip does.
func isELF(data []byte) bool {
	if len(data) < elfHead || !bytes.HasPrefix(data, []byte("\x7fELF\x01\x01")) {
		return false
	}
	typ, machine := binary.LittleEndian.Uint16(data[16:]), binary.LittleEndian.Uint16(data[18:])
	return typ == typeCore && (machine == machineRISCV || machine == machineXtensa)
}

// noteOfESP tells whether the first program header is of notes that may be read and written, as ESP-IDF writes them; the flags of
// Linux's and GDB's notes are 0.
func noteOfESP(head []byte) bool {
	const flags, readWrite = 24, 6
	at := uint64(binary.LittleEndian.Uint32(head[28:]))
	r := bin.NewAt(head, at, false)
	typ := r.U32()
	r.Seek(at + flags)
	return typ == typeNote && r.U32() == readWrite && r.Err() == nil
}

// task is a task as a dump has it.
type task struct {
	block uint32 // the address of its control block
	regs  [32]uint32
	// window are a0 to a15 of Xtensa, whose PC is the first of regs.
	window [16]uint32
}

// segment is memory.
type segment struct {
	addr  uint64
	bytes []byte
}

// dump is a dump, read.
type dump struct {
	chip     *chip // nil: the dump does not say
	machine  uint16
	tasks    []task
	segments []segment
	sha      string // the first hexadecimal digits of the SHA-256 of the program's ELF file
	crashed  uint32 // the control block of the task that crashed
	handler  bool   // it crashed in the handler of an interrupt
	panic    string
	cause    cause
	issues   []string
}

// read reads a dump with or without the header of flash; why says what is wrong with it.
func read(data []byte) (d *dump, why string) {
	d = new(dump)
	if h, at, ok := headerOf(data); ok {
		d.chip = chipOf(h.version)
		d.checked(data, h)
		data = data[at:]
	}
	if !isELF(data) {
		return nil, "a core dump of ESP-IDF without an ELF file in it"
	}
	d.machine = binary.LittleEndian.Uint16(data[18:])
	table, n := binary.LittleEndian.Uint32(data[28:]), binary.LittleEndian.Uint16(data[44:])
	for i := range min(int(n), maxHeaders) {
		r := bin.NewAt(data, uint64(table)+uint64(i)*programHeader, false)
		typ, off, addr, _, size := r.U32(), r.U32(), r.U32(), r.U32(), r.U32()
		if r.Err() != nil {
			d.issues = append(d.issues, "the table of segments is cut short")
			break
		}
		content := data[min(uint64(off), uint64(len(data))):]
		if uint64(size) > uint64(len(content)) {
			d.issues = append(d.issues, fmt.Sprintf("the segment at %#x is cut short", addr))
			size = uint32(len(content))
		}
		switch content = content[:size]; typ {
		case typeLoad:
			d.segments = append(d.segments, segment{uint64(addr), content})
		case typeNote:
			d.notes(content)
		}
	}
	if len(d.tasks) == 0 {
		return nil, "a core dump of ESP-IDF without any task's registers"
	}
	return d, ""
}

// checked compares a dump with the checksum behind it, a CRC-32 or a SHA-256; where the file ends before, there is none.
func (d *dump) checked(data []byte, h header) {
	if uint64(len(data)) < uint64(h.length) {
		d.issues = append(d.issues, fmt.Sprintf("the dump ends at %#x of %#x", len(data), h.length))
		return
	}
	if !sound(data[:h.length]) {
		d.issues = append(d.issues, "the checksum is another than the dump's: bytes of it may be wrong")
	}
}

// sound tells whether bytes end in their CRC-32 or in their SHA-256.
func sound(data []byte) bool {
	const crc = 4
	if body := data[:len(data)-crc]; crc32.ChecksumIEEE(body) == binary.LittleEndian.Uint32(data[len(body):]) {
		return true
	}
	body := data[:len(data)-sha256.Size]
	sum := sha256.Sum256(body)
	return bytes.Equal(sum[:], data[len(body):])
}

// notes reads the notes of a segment.
func (d *dump) notes(data []byte) {
	r := bin.New(data, false)
	for r.Len() > 0 && r.Err() == nil {
		name, size, typ := r.U32(), r.U32(), r.U32()
		if name > maxName {
			return
		}
		r.Skip(uint64(name))
		r.Align(4)
		desc := r.Bytes(uint64(size))
		r.Align(4)
		if desc == nil {
			return
		}
		d.note(typ, desc)
	}
}

// Where struct elf_prstatus of 32 bits has the process, and the registers.
const statusProcess, statusRegs = 24, 72

func (d *dump) note(typ uint32, desc []byte) {
	r := bin.New(desc, false)
	switch {
	case typ == noteStatus && len(desc) >= statusRegs && len(d.tasks) < maxTasks:
		var t task
		r.Seek(statusProcess)
		t.block = r.U32()
		r.Seek(statusRegs)
		for i := range t.regs {
			t.regs[i] = r.U32()
		}
		if d.machine == machineXtensa {
			r.Seek(statusRegs + windowAt)
			for i := range t.window {
				t.window[i] = r.U32()
			}
		}
		if r.Err() == nil {
			d.tasks = append(d.tasks, t)
		}
	case typ == noteInfo && len(desc) > 4:
		if c := chipOf(r.U32()); c != nil {
			d.chip = c
		}
		d.sha = strings.ToLower(text(desc[4:]))
	case typ == noteExtra && len(desc) >= 4:
		d.crashed = r.U32()
		if d.machine == machineXtensa {
			d.cause.take(&r)
		} else {
			d.handler = len(desc) >= 8 && r.U32() != 0
		}
	case typ == notePanic:
		d.panic = text(desc)
	}
}

// text is the text of a note, up to NUL.
func text(b []byte) string {
	b, _, _ = bytes.Cut(b, []byte{0})
	return strings.ToValidUTF8(string(b[:min(len(b), maxPanic)]), "?")
}

// maxPanic bounds what a note says, in bytes.
const maxPanic = 512
