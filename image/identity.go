package image

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
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

// SymbolServerID is what symbol servers call the build of a GUID and an age, 20 bytes as they lie in a CodeView record: the GUID's
// first three numbers with the highest digit first, its other bytes, the age. "" for a build ID of another size.
func SymbolServerID(id []byte) string {
	const size = 20
	if len(id) != size {
		return ""
	}
	le := binary.LittleEndian
	return fmt.Sprintf("%08X%04X%04X%X%X", le.Uint32(id), le.Uint16(id[4:]), le.Uint16(id[6:]), id[8:16], le.Uint32(id[16:]))
}
