package minidump

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/bin"
)

// Signatures of CodeView records: a GUID, an age and the name of a PDB; the build ID of an ELF file.
const rsds, bpEL = 0x5344_5352, 0x4270_454c

// guidSize is the size of a GUID.
const guidSize = 16

// maxBuildID bounds a build ID in bytes: linkers write 8 to 32.
const maxBuildID = 64

// identity tells which build a module is.
type identity struct {
	buildID []byte // the whole build ID, nil where the dump has none
	// guid is the first part of the build ID or, of a file without, what Breakpad makes of the text: nil for none.
	guid []byte
	age  uint32
	pdb  string // the name of the file with the symbols, "" where the record has none
}

// identity reads a module's CodeView record.
func (d *dump) identity(l location) (id identity) {
	r := bin.New(d.at(l), d.big)
	switch sig := r.U32(); sig {
	case bpEL:
		id.buildID = r.Bytes(uint64(min(r.Len(), maxBuildID)))
	case rsds:
		id.guid, id.age, id.pdb = r.Bytes(guidSize), r.U32(), r.CString()
	}
	if len(bytes.Trim(id.guid, "\x00")) == 0 {
		id.guid = nil
	}
	if len(bytes.Trim(id.buildID, "\x00")) == 0 {
		id.buildID = nil
	}
	return id
}

// key are the bytes by which a module is known to others.
func (id *identity) key() []byte {
	if id.buildID != nil {
		return id.buildID
	}
	return id.guid
}

// known are the bytes by which readers of reports know a module: of Windows with the age, of Apple in the order in which Mach-O has them.
func (id *identity) known(os string) []byte {
	key := slices.Clone(id.key())
	switch {
	case id.guid == nil || id.buildID != nil:
		return key
	case os == "Windows":
		return binary.LittleEndian.AppendUint32(key, id.age)
	case os == "macOS" || os == "iOS":
		return swapped(key)
	}
	return key
}

// symbolIDs are what symbol files of the module may be called by.
func (id *identity) symbolIDs() []string {
	if id.key() == nil {
		return nil
	}
	return image.SymbolServerIDs(id.key(), id.age)
}

// fits tells whether an image may be the build that a GUID means: by its build ID or by its text, whichever the file had
// that ran. The first three numbers of a GUID may have been written in the order of bytes of the machine or in the other.
func (id *identity) fits(img *image.Image) bool {
	if id.guid == nil {
		return true
	}
	start := make([]byte, guidSize)
	copy(start, img.BuildID)
	text := textIdentity(img)
	for _, own := range [][]byte{start, text} {
		if bytes.Equal(own, id.guid) || bytes.Equal(own, swapped(id.guid)) {
			return true
		}
	}
	return img.BuildID == nil && text == nil
}

// swapped is a GUID with the bytes of its first three numbers the other way round.
func swapped(guid []byte) []byte {
	g := guid
	return append([]byte{g[3], g[2], g[1], g[0], g[5], g[4], g[7], g[6]}, g[8:]...)
}

// textIdentity is what Breakpad identifies a file by that has no build ID: the first 4096 bytes of .text, sixteen by
// sixteen, in one another (common/linux/file_id.cc, HashElfTextSection). nil for a file without sections.
func textIdentity(img *image.Image) []byte {
	const hashed = 4096
	text, ok := img.Sections.Named(".text")
	if !ok {
		return nil
	}
	sum := make([]byte, guidSize)
	for i, c := range text.Data[:min(len(text.Data), hashed)] {
		sum[i%guidSize] ^= c
	}
	return sum
}
