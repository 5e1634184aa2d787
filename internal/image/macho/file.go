package macho

import (
	"bytes"
	"fmt"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// file is one Mach-O file: its header, what its load commands say, and its bytes.
type file struct {
	path  string
	start uint64 // where data lies in the file on disk, for messages
	data  []byte // what file offsets of the load commands are offsets in
	// place, where set, finds the bytes of an address: the file is mapped in a captured program,
	// or lies in a shared cache, so that offsets in it lead nowhere.
	place func(addr, size uint64) []byte

	header
	layout
	linkedit
	starter   starter
	identity  string // LC_ID_DYLIB, LC_ID_DYLINKER
	encrypted extent
	uuid      []byte
	issues    []string
}

// starter is where the program begins: an offset in the file (LC_MAIN), or the registers of its
// first thread (LC_UNIXTHREAD).
type starter struct {
	offset uint64
	state  []byte
}

// extent is a range of the file.
type extent struct{ off, size uint64 }

// readExtent reads an offset and a size of 32 bits each.
func readExtent(r *bin.Reader) extent { return extent{uint64(r.U32()), uint64(r.U32())} }

// newFile reads the header and the load commands of a Mach-O file whose header is at head of
// data.
func newFile(path string, data []byte, head uint64) (*file, error) {
	f := &file{path: path, data: data, layout: layout{head: head}}
	h, r, count, size, ok := readHeader(data, head)
	if !ok {
		return nil, f.errorf(head, "not a Mach-O file")
	}
	if r.Err() != nil {
		return nil, f.errorf(uint64(len(data)), "the file ends within its header")
	}
	f.header = h
	f.readCommands(r, count, size)
	return f, nil
}

// readCommands reads the load commands, as many as are whole.
func (f *file) readCommands(r bin.Reader, count, size uint32) {
	end := uint64(r.Offset()) + uint64(size)
	if end > uint64(len(f.data)) {
		f.issue(uint64(r.Offset()), "%d bytes of load commands reach beyond the end of the file", size)
	}
	for range count {
		at := uint64(r.Offset())
		id, n := r.U32(), uint64(r.U32())
		if r.Err() != nil || at+8 > end {
			return
		}
		if n < 8 || at+n > end || at+n > uint64(len(f.data)) {
			f.issue(at, "load command %#x of %d bytes; it and those behind it are not used", id, n)
			return
		}
		f.command(id, bin.New(f.data[at+8:at+n], f.big))
		r.Seek(at + n)
	}
}

// command reads one load command, whose body r is.
func (f *file) command(id uint32, r bin.Reader) {
	switch id {
	case lcSegment, lcSegment64:
		f.addSegment(r, id == lcSegment64)
	case lcUUID:
		if id := r.Bytes(16); r.Err() == nil {
			f.uuid = bytes.Clone(id)
		}
	case lcMain:
		f.starter.offset = r.U64()
	case lcUnixThread, lcThread:
		f.starter.state = r.Bytes(uint64(r.Len()))
	case lcEncryptionInfo, lcEncryptionInfo64:
		if x := readExtent(&r); r.U32() != 0 && r.Err() == nil && f.encrypted.size == 0 {
			f.encrypted = x
			f.issue(x.off, "the program's text is encrypted (LC_ENCRYPTION_INFO): %d bytes; no code and no unwind table of it is used", x.size)
		}
	case lcIDDylib, lcIDDylinker:
		f.identity = commandString(r)
	default:
		f.linkedit.command(id, f.nlistSize(), &r)
	}
}

// commandString is the string of a load command, whose offset from the command's begin comes
// first.
func commandString(r bin.Reader) string {
	const head = 8 // what r does not have of the command
	off := uint64(r.U32())
	if off < head {
		return ""
	}
	r.Seek(off - head)
	s, _, _ := bytes.Cut(r.Bytes(uint64(r.Len())), []byte{0})
	return string(s)
}

// entry is where the program begins, 0 if nothing says.
func (f *file) entry(arch *cpu.Arch) uint64 {
	if f.starter.offset != 0 {
		return f.textAddr() + f.starter.offset
	}
	r := bin.New(f.starter.state, f.big)
	r.Skip(8) // flavor, count: an executable's is that of the general registers
	regs := arch.Read(arch.Layouts[cpu.DarwinThread], r.Bytes(uint64(r.Len())))
	pc, _ := regs.Lookup(arch.PC)
	return pc
}

func (f *file) errorf(off uint64, format string, args ...any) error {
	return &image.Error{Path: f.path, Offset: int64(f.start + off), Reason: fmt.Sprintf(format, args...)}
}

// issue notes what is wrong at an offset, and does not stop the reading.
func (f *file) issue(off uint64, format string, args ...any) {
	f.issues = append(f.issues, f.errorf(off, format, args...).Error())
}
