package elfcore

import (
	"bytes"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
)

// Note types of Linux's include/uapi/linux/elf.h.
const (
	ntPrstatus   = 1
	ntPrpsinfo   = 3
	ntAuxv       = 6
	ntSiginfo    = 0x53494749
	ntFile       = 0x46494c45
	ntARMPACMask = 0x406

	ntGNUBuildID = 3
)

// notes is what the notes say. prstatus and siginfo wait for the ABI.
type notes struct {
	prstatus [][]byte
	siginfo  []byte
	command  string // psargs, else fname
	fname    string // the program's base name, cut to 15 bytes
	pid      int
	auxv     auxv
	files    []fileMapping
	codeMask uint64
}

// readNotes decodes a note segment. All of them together are no longer than the
// file: headers that name the same notes again and again are not followed.
func (c *core) readNotes(p phdr) {
	data := c.fileBytes(p.off, p.filesz)
	if c.noteBytes += len(data); c.noteBytes > len(c.data) {
		return
	}
	damaged := eachNote(data, c.header.big, func(name []byte, typ uint32, desc []byte) {
		if string(name) == "CORE" || string(name) == "LINUX" {
			c.readNote(typ, desc)
		}
	})
	if damaged >= 0 {
		c.issue("%s: offset %#x: the notes are damaged from here on", c.name, p.off+uint64(damaged))
	}
}

// eachNote walks notes (gABI ch. 5, "Note Section"; Linux pads to 4 bytes in
// both classes). It returns the offset of the first one that is not whole, -1
// where all are.
func eachNote(data []byte, big bool, yield func(name []byte, typ uint32, desc []byte)) int {
	r := bin.New(data, big)
	for r.Len() >= 12 {
		at := r.Offset()
		namesz, descsz, typ := uint64(r.U32()), uint64(r.U32()), r.U32()
		name := r.Bytes(namesz)
		r.Align(4)
		desc := r.Bytes(descsz)
		if r.Err() != nil {
			return at
		}
		yield(bytes.TrimRight(name, "\x00"), typ, desc)
		if r.Len() > 0 {
			r.Align(4)
		}
		if r.Err() != nil {
			return -1 // the last one's padding is missing
		}
	}
	return -1
}

func (c *core) readNote(typ uint32, desc []byte) {
	n := &c.notes
	switch typ {
	case ntPrstatus:
		n.prstatus = append(n.prstatus, desc)
	case ntPrpsinfo:
		c.readPsinfo(desc)
	case ntAuxv:
		n.auxv = readAuxv(desc, &c.header)
	case ntSiginfo:
		if n.siginfo == nil { // the first is of the thread that crashed
			n.siginfo = desc
		}
	case ntFile:
		c.readFiles(desc)
	case ntARMPACMask:
		// struct user_pac_mask: data_mask, insn_mask; set bits are not address.
		r := bin.New(desc, c.header.big)
		r.Skip(8)
		if mask := r.U64(); r.Err() == nil && n.codeMask == 0 {
			n.codeMask = ^mask
		}
	}
}

// readPsinfo decodes struct elf_prpsinfo. Its size tells the width of long and
// of the user IDs: 124 bytes with 16-bit ones (i386, ARM), 128 with 32-bit ones
// (MIPS, RISC-V), 136 on 64-bit machines.
func (c *core) readPsinfo(desc []byte) {
	var pid, fname uint64
	switch len(desc) {
	case 124:
		pid, fname = 12, 28
	case 128:
		pid, fname = 16, 32
	case 136:
		pid, fname = 24, 40
	default:
		return
	}
	r := bin.New(desc, c.header.big)
	r.Seek(pid)
	c.notes.pid = int(int32(r.U32()))
	r.Seek(fname)
	c.notes.fname = text(r.Bytes(16))
	if c.notes.command = text(r.Bytes(80)); c.notes.command == "" {
		c.notes.command = c.notes.fname
	}
}

// text is a string in a field of fixed size, with the blanks that end psargs cut.
func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(bytes.TrimRight(b, " "))
}

// auxv is the auxiliary vector, by a_type of include/uapi/linux/auxvec.h.
type auxv map[uint64]uint64

const (
	atNull        = 0
	atPhdr        = 3
	atPhent       = 4
	atPhnum       = 5
	atBase        = 7
	atEntry       = 9
	atExecFn      = 31
	atSysinfoEhdr = 33
)

// maxAux bounds the entries; Linux passes some 25.
const maxAux = 256

func readAuxv(desc []byte, h *header) auxv {
	v := make(auxv)
	r := bin.New(desc, h.big)
	for range maxAux {
		typ, val := r.Uint(h.word()), r.Uint(h.word())
		if r.Err() != nil || typ == atNull {
			break
		}
		v[typ] = val
	}
	return v
}

// fileMapping is one entry of NT_FILE: addresses start ≤ a < end show the file
// from off on.
type fileMapping struct {
	start, end, off uint64
	path            string
}

// A mapping of a file in NT_FILE is a mapping of the program; see loadsFloor.
const filesFloor, bytesPerFile = 1 << 18, 1 << 12

// readFiles decodes NT_FILE (fs/binfmt_elf.c, fill_files_note): count, page size,
// count × (start, end, offset in pages), then the names.
func (c *core) readFiles(desc []byte) {
	w := c.header.word()
	r := bin.New(desc, c.header.big)
	count, page := r.Uint(w), r.Uint(w)
	names := r
	room := r.Len() / (3 * w)
	names.Skip(uint64(bin.Limit(count, room)) * uint64(3*w))
	files := budget.New("mappings of files", filesFloor, uint64(len(c.data))/bytesPerFile)
	for range bin.Limit(count, room) {
		if !files.Draw(1) {
			c.issue("%s: NT_FILE: %v; the others are left out", c.name, files.Err())
			return
		}
		m := fileMapping{start: r.Uint(w), end: r.Uint(w), off: r.Uint(w) * page}
		m.path = names.CString()
		if r.Err() != nil || names.Err() != nil {
			c.issue("%s: NT_FILE ends after %d of %d mappings", c.name, len(c.notes.files), count)
			return
		}
		if m.start < m.end {
			c.notes.files = append(c.notes.files, m)
		}
	}
}
