package macho

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/bin"
)

const (
	archiveMagic  = "!<arch>\n"
	archiveHeader = 60 // bytes before each member: name, time, owner, mode, size, an end
)

func isArchive(head []byte) bool { return bytes.HasPrefix(head, []byte(archiveMagic)) }

// memberNamed is a member of an archive as BSD's ar writes it: a name of more than 16 bytes, or
// one with spaces, stands before the data ("#1/20"). The value is nil where there is none.
func memberNamed(data []byte, name string) []byte {
	if !isArchive(data) {
		return nil
	}
	for r := bin.NewAt(data, uint64(len(archiveMagic)), false); r.Len() >= archiveHeader; {
		head := r.Bytes(archiveHeader)
		is := strings.TrimRight(string(head[:16]), " /")
		size, err := strconv.ParseUint(strings.TrimSpace(string(head[48:58])), 10, 63)
		body := r.Bytes(size)
		if err != nil || r.Err() != nil {
			return nil
		}
		if rest, long := strings.CutPrefix(is, "#1/"); long {
			n, err := strconv.Atoi(rest)
			if err != nil || n < 0 || n > len(body) {
				return nil
			}
			is, body = string(bytes.TrimRight(body[:n], "\x00")), body[n:]
		}
		if is == name {
			return body
		}
		r.Align(2)
	}
	return nil
}

// sameCode tells whether a function of size bytes, whose code in a linked image begins at linked,
// is what an object file has at a symbol: all but what the linker filled in. File times do not
// tell: they change when files are copied.
func sameCode(linked []byte, size uint64, o *object, s *nlist) bool {
	code := o.img.Segments.Code(s.value)
	if size == 0 || uint64(len(linked)) < size || uint64(len(code)) < size {
		return false
	}
	sec, ok := o.file.sectionAt(s.value)
	if !ok {
		return false
	}
	linked, code = linked[:size], bytes.Clone(code[:size])
	filledIn(o.file, sec, s.value, func(at uint64, n int) {
		for i := at; i < at+uint64(n) && i < size; i++ {
			code[i] = linked[i]
		}
	})
	if o.file.cpu == cpuTypeARM64 {
		for i := 0; i+4 <= len(code); i += 4 {
			// Hints let linkers change loads and stores next to those that they fill in.
			const immediate, loadStore = 0x3b00_0000, 0x3900_0000 // Arm ARM, C4.1.94.33
			if binary.LittleEndian.Uint32(code[i:])&immediate == loadStore {
				copy(code[i:i+4], linked[i:])
			}
		}
	}
	return bytes.Equal(linked, code)
}

const (
	cpuTypeX86_64 = 0x0100_0007
	cpuTypeARM64  = 0x0100_000c

	relocScattered     = 0x8000_0000 // of r_address, on 32-bit processors
	x86GOTLoad, x86TLV = 3, 9
)

// filledIn calls yield for what the linker fills in of a section from an address on: offsets
// from there, and numbers of bytes (mach-o/reloc.h).
func filledIn(f *file, s *section, from uint64, yield func(at uint64, n int)) {
	for r := bin.New(f.slice(s.relocs), f.big); r.Len() >= 8; {
		at, what := r.U32(), r.U32()
		length := what >> 25 & 3
		if at&relocScattered != 0 {
			at, length = at&0xff_ffff, at>>28&3
		}
		off, n := s.addr+uint64(at)-from, 1<<length
		if kind := what >> 28; f.cpu == cpuTypeX86_64 && (kind == x86GOTLoad || kind == x86TLV) {
			off, n = off-2, n+2 // the load may become a lea
		}
		yield(off, n)
	}
}
