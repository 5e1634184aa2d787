package elfcore

import (
	"bytes"

	"github.com/backsight/backsight/input"
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

	// Of the notes that a core of Solaris has besides these: NT_PSTATUS (uts/common/sys/elf.h).
	ntPstatus = 10

	ntX86Shadow = 0x204 // NT_X86_SHSTK
	ntARMShadow = 0x410 // NT_ARM_GCS
	ntRISCVCFI  = 0x903 // NT_RISCV_USER_CFI, Linux 6.20

	ntGNUBuildID = 3

	noteHeader = 12 // bytes of namesz, descsz and type
)

// notes is what the notes say. Registers and siginfo wait for the ABI.
type notes struct {
	system   system
	threads  []threadNotes
	crashed  int // the thread's ID; 0: the first
	signal   int // that the whole program had, of NetBSD
	siginfo  []byte
	command  string // psargs, else fname
	fname    string // the program's base name, cut to 15 bytes
	pid      int
	auxv     auxv
	files    []fileMapping
	codeMask uint64
	// linked is the dynamic linker's list of libraries, and file reads files, where a server does.
	linked []input.Library
	file   func(path string, limit int) ([]byte, error)
}

// threadNotes is what the notes say of a thread.
type threadNotes struct {
	id, signal int
	name       string
	regs       []byte
	shadow     uint64 // the pointer to its shadow stack, 0 for none
}

// noteReader reads the notes of a core.
type noteReader struct {
	file  *file
	found *problems
	notes notes
	size  int // of the segment, in bytes
}

// readNotes decodes note segments. All of them together are no longer than the
// file: headers that name the same notes again and again are not followed.
func readNotes(f *file, segs []phdr, found *problems) notes {
	r := noteReader{file: f, found: found}
	total := uint64(0)
	for _, p := range segs {
		data := f.pages.Bytes(p.off, p.filesz)
		if total += uint64(len(data)); total > f.pages.Size() {
			break
		}
		r.size = len(data)
		damaged := eachNote(data, f.header.big, func(name []byte, typ uint32, desc []byte) {
			switch owner, lwp, _ := bytes.Cut(name, []byte("@")); string(owner) {
			case "CORE", "LINUX":
				r.note(typ, desc)
			case "OpenBSD":
				r.openBSD(string(lwp), typ, desc)
			case "NetBSD-CORE":
				r.netBSD(string(lwp), typ, desc)
			case "FreeBSD":
				r.freeBSD(typ, desc)
			}
		})
		if damaged >= 0 {
			found.capture(f.name, "%s: offset %#x: the notes are damaged from here on", f.name, p.off+uint64(damaged))
		}
	}
	return r.notes
}

// eachNote walks notes (gABI ch. 5, "Note Section"; Linux pads to 4 bytes in
// both classes). It returns the offset of the first one that is not whole, -1
// where all are.
func eachNote(data []byte, big bool, yield func(name []byte, typ uint32, desc []byte)) int {
	r := bin.New(data, big)
	for r.Len() >= noteHeader {
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

func (r *noteReader) note(typ uint32, desc []byte) {
	n := &r.notes
	switch typ {
	case ntPrstatus:
		if n.threads == nil { // to grow would leave more than twice as much behind
			n.threads = make([]threadNotes, 0, r.size/(noteHeader+len(desc))+1)
		}
		n.threads = append(n.threads, r.file.header.readPrstatus(desc))
		r.file.forget(len(n.threads))
	case ntPstatus:
		n.system = solaris
	case ntPrpsinfo:
		n.readPsinfo(desc, r.file.header.big)
	case ntAuxv:
		n.auxv = readAuxv(desc, &r.file.header)
	case ntSiginfo:
		if n.siginfo == nil { // the first is of the thread that crashed
			n.siginfo = desc
		}
	case ntFile:
		r.files(desc)
	case ntX86Shadow:
		r.shadow(desc, 0, 0)
	case ntARMShadow:
		r.shadow(desc, 1, 16)
	case ntRISCVCFI:
		r.shadow(desc, 1<<3, 8)
	case ntARMPACMask:
		// struct user_pac_mask: data_mask, insn_mask; set bits are not address.
		d := bin.New(desc, r.file.header.big)
		d.Skip(8)
		if mask := d.U64(); d.Err() == nil && n.codeMask == 0 {
			n.codeMask = ^mask
		}
	}
}

// shadow notes the pointer to the shadow stack of the thread whose NT_PRSTATUS stood before, at an offset in a note. The note
// begins with flags, one of which says that the thread has such a stack; enabled 0: there are no flags.
func (r *noteReader) shadow(desc []byte, enabled, at uint64) {
	d := bin.New(desc, r.file.header.big)
	flags := d.U64()
	d.Seek(at)
	if top := d.U64(); d.Err() == nil && (enabled == 0 || flags&enabled != 0) && len(r.notes.threads) > 0 {
		r.notes.threads[len(r.notes.threads)-1].shadow = top
	}
}

// readPsinfo decodes struct elf_prpsinfo. Its size tells the width of long and
// of the user IDs: 124 bytes with 16-bit ones (i386, ARM), 128 with 32-bit ones
// (MIPS, RISC-V), 136 on 64-bit machines.
func (n *notes) readPsinfo(desc []byte, big bool) {
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
	r := bin.New(desc, big)
	r.Seek(pid)
	n.pid = int(int32(r.U32()))
	r.Seek(fname)
	n.fname = text(r.Bytes(16))
	if n.command = text(r.Bytes(80)); n.command == "" {
		n.command = n.fname
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
	atPlatform    = 15
	atRandom      = 25
	atExecFn      = 31
	atSysinfoEhdr = 33

	// Where the executable's path is, elsewhere.
	atSunExecName     = 2014 // NetBSD
	atFreeBSDExecPath = 15
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

// files decodes NT_FILE (fs/binfmt_elf.c, fill_files_note): count, page size,
// count × (start, end, offset in pages), then the names.
func (r *noteReader) files(desc []byte) {
	name, w := r.file.name, r.file.header.word()
	d := bin.New(desc, r.file.header.big)
	count, page := d.Uint(w), d.Uint(w)
	names := d
	room := d.Len() / (3 * w)
	names.Skip(uint64(bin.Limit(count, room)) * uint64(3*w))
	files := budget.New("mappings of files", filesFloor, r.file.pages.Size()/bytesPerFile)
	for range bin.Limit(count, room) {
		if !files.Draw(1) {
			r.found.capture(name, "%s: NT_FILE: %v; the others are left out", name, files.Err())
			return
		}
		m := fileMapping{start: d.Uint(w), end: d.Uint(w), off: d.Uint(w) * page}
		m.path = names.CString()
		if d.Err() != nil || names.Err() != nil {
			r.found.capture(name, "%s: NT_FILE ends after %d of %d mappings", name, len(r.notes.files), count)
			return
		}
		if m.start < m.end {
			r.notes.files = append(r.notes.files, m)
		}
	}
}
