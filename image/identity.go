package image

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/backsight/backsight/internal/sha256"
)

// headers is how much of a segment a file's own headers may take, which change when a section
// is added to the file.
const headers = 1 << 10

// Identity tells which build the code of an image is of: the build ID or, without one, a digest of
// the executable segments. It reads all code, once.
func (img *Image) Identity() []byte {
	if len(img.BuildID) > 0 {
		return img.BuildID
	}
	return img.Memo(identityKey{}, func() any { return img.codeDigest() }).([]byte)
}

// identityKey is the Memo key of an image's digest.
type identityKey struct{}

func (img *Image) codeDigest() []byte {
	h := sha256.New()
	for i := range img.Segments {
		s := &img.Segments[i]
		if !s.Exec {
			continue
		}
		data := s.Data
		if bytes.HasPrefix(data, []byte("\x7fELF")) {
			data = data[min(len(data), headers):]
		}
		fmt.Fprintf(h, "%#x %d\n", s.Addr, len(s.Data))
		h.Write(data)
	}
	return h.Sum(nil)
}

// guidSize is the size of a GUID in bytes.
const guidSize = 16

// SymbolServerID is what symbol servers call the build of a GUID and an age, 20 bytes as they lie in a CodeView record: the GUID's
// first three numbers with the highest digit first, its other bytes, the age. "" for a build ID of another size.
func SymbolServerID(id []byte) string {
	if len(id) != guidSize+4 {
		return ""
	}
	return symbolServerID(binary.LittleEndian, id, binary.LittleEndian.Uint32(id[guidSize:]))
}

// SymbolServerIDs are what symbol servers may call the build of an age and an identity, of which the first 16 bytes count as a GUID:
// the order of bytes in the GUID's first three numbers is that of little-endian machines, or as written.
func SymbolServerIDs(identity []byte, age uint32) []string {
	var guid [guidSize]byte
	copy(guid[:], identity)
	return []string{symbolServerID(binary.LittleEndian, guid[:], age), symbolServerID(binary.BigEndian, guid[:], age)}
}

func symbolServerID(order binary.ByteOrder, guid []byte, age uint32) string {
	return fmt.Sprintf("%08X%04X%04X%X%X", order.Uint32(guid), order.Uint16(guid[4:]), order.Uint16(guid[6:]), guid[8:guidSize], age)
}
